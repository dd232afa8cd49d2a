//! Programs in C: one file for many, the argument of `main` says which of them runs.

use std::fmt::Write;

use super::program::{Access, Ending, Hint, KEPT, MUTEXES, Program, SEMAPHORES, Statement};

const PRELUDE: &str = r#"#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOAD(v) atomic_load_explicit(&(v), memory_order_relaxed)
#define STORE(v, n) atomic_store_explicit(&(v), n, memory_order_relaxed)

static void rest(int milliseconds) {
    struct timespec time = {0, milliseconds * 1000000L};
    nanosleep(&time, 0);
}

static long begin;

static long milliseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static struct timespec after(int milliseconds) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += milliseconds * 1000000L;
    time.tv_sec += time.tv_nsec / 1000000000L;
    time.tv_nsec %= 1000000000L;
    return time;
}

static int wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, int milliseconds) {
    struct timespec time = after(milliseconds);
    return pthread_cond_timedwait(condition, mutex, &time) != 0;
}

static int lock_for(pthread_mutex_t *mutex, int milliseconds) {
    struct timespec time = after(milliseconds);
    return pthread_mutex_timedlock(mutex, &time) != 0;
}

static int take_for(sem_t *semaphore, int milliseconds) {
    struct timespec time = after(milliseconds);
    return sem_timedwait(semaphore, &time) != 0;
}

/* The registers of the thread, for functions that it calls. */
static __thread int *own;

static void say(const char *text, int size) {
    if (write(1, text, size) != size)
        abort();
}

static int add(char *text, int size, const int *values, int count) {
    for (int i = 0; i < count; i++)
        size += sprintf(text + size, i + 1 < count ? "%d " : "%d\n", values[i]);
    return size;
}
"#;

/// The source of a program that runs one of these.
pub fn source(programs: &[Program]) -> String {
    let mut text = PRELUDE.to_owned();
    for (number, program) in programs.iter().enumerate() {
        let mut printer = Printer {
            text: &mut text,
            number,
            program,
        };
        printer.print().expect("a string takes everything");
    }
    text.push_str("\nint main(int argc, char **argv) {\n    switch (atoi(argv[argc - 1])) {\n");
    for number in 0..programs.len() {
        let _ = writeln!(text, "    case {number}: return p{number}_t0(0) != 0;");
    }
    text.push_str("    }\n    return 2;\n}\n");
    text
}

struct Printer<'a> {
    text: &'a mut String,
    number: usize,
    program: &'a Program,
}

impl Printer<'_> {
    fn print(&mut self) -> std::fmt::Result {
        let (number, program) = (self.number, self.program);
        for (variable, access) in program.variables.iter().enumerate() {
            let kind = match access {
                Access::Plain => "int",
                Access::Volatile => "volatile int",
                Access::Atomic => "atomic_int",
            };
            writeln!(self.text, "\nstatic {kind} p{number}_x{variable};")?;
            writeln!(
                self.text,
                "static void p{number}_e{variable}(void *value) {{ {}; }}",
                self.store(variable, "*(int *)value")
            )?;
        }
        for mutex in 0..MUTEXES {
            writeln!(
                self.text,
                "static pthread_mutex_t p{number}_m{mutex} = PTHREAD_MUTEX_INITIALIZER;"
            )?;
        }
        for semaphore in 0..SEMAPHORES {
            writeln!(self.text, "static sem_t p{number}_s{semaphore};")?;
        }
        let threads = program.threads.len();
        writeln!(
            self.text,
            "static pthread_cond_t p{number}_c = PTHREAD_COND_INITIALIZER;\n\
             static pthread_rwlock_t p{number}_w = PTHREAD_RWLOCK_INITIALIZER;\n\
             static pthread_once_t p{number}_o = PTHREAD_ONCE_INIT;\n\
             static pthread_barrier_t p{number}_b;\n\
             static atomic_int p{number}_l;\n\
             static int p{number}_r[{threads}][{KEPT}];"
        )?;
        for thread in 0..threads {
            writeln!(self.text, "static void *p{number}_t{thread}(void *unused);")?;
        }
        for thread in 0..threads {
            self.once_bodies(thread)?;
            self.thread(thread)?;
        }
        Ok(())
    }

    /// The functions that are executed once, which stand outside of the thread's.
    fn once_bodies(&mut self, thread: usize) -> std::fmt::Result {
        let (number, program) = (self.number, self.program);
        for (place, statement) in program.threads[thread].iter().enumerate() {
            if let Statement::Once(inner) = statement {
                let name = format!("p{number}_t{thread}_o{place}");
                writeln!(self.text, "static void {name}(void) {{\n    int *r = own;")?;
                self.statements(inner, thread)?;
                writeln!(self.text, "}}")?;
            }
        }
        Ok(())
    }

    fn thread(&mut self, thread: usize) -> std::fmt::Result {
        let (number, program) = (self.number, self.program);
        writeln!(
            self.text,
            "static void *p{number}_t{thread}(void *unused) {{\n    int r[{KEPT}] = {{0}};\n\
             \x20   char text[512];\n    int size = 0;\n    pthread_t t[{}];\n    own = r;",
            program.threads.len()
        )?;
        if thread == 0 {
            writeln!(
                self.text,
                "    begin = milliseconds();\n    pthread_barrier_init(&p{number}_b, 0, 2);"
            )?;
            for semaphore in 0..SEMAPHORES {
                writeln!(self.text, "    sem_init(&p{number}_s{semaphore}, 0, 0);")?;
            }
        }
        let statements = &program.threads[thread];
        for place in 0..=statements.len() {
            for (child, _) in program.started_by(thread).filter(|(_, at)| *at == place) {
                writeln!(
                    self.text,
                    "    pthread_create(&t[{child}], 0, p{number}_t{child}, 0);"
                )?;
            }
            match statements.get(place) {
                Some(Statement::Once(_)) => writeln!(
                    self.text,
                    "    pthread_once(&p{number}_o, p{number}_t{thread}_o{place});"
                )?,
                Some(statement) => self.statement(statement, thread)?,
                None => {}
            }
        }
        self.end(thread)?;
        writeln!(self.text, "    return 0;\n}}")
    }

    fn end(&mut self, thread: usize) -> std::fmt::Result {
        let (number, program) = (self.number, self.program);
        let joins = program.ending == Ending::Joins;
        for (child, _) in program.started_by(thread) {
            let ends = if joins {
                "join(t[{}], 0)"
            } else {
                "detach(t[{}])"
            };
            let ends = ends.replace("{}", &child.to_string());
            writeln!(self.text, "    pthread_{ends};")?;
        }
        if joins && thread > 0 {
            return writeln!(
                self.text,
                "    for (int i = 0; i < {KEPT}; i++)\n        p{number}_r[{thread}][i] = r[i];"
            );
        }
        if thread > 0 && program.ending == Ending::Returns {
            return Ok(());
        }
        writeln!(self.text, "    size = add(text, size, r, {KEPT});")?;
        if joins {
            for other in 1..program.threads.len() {
                writeln!(
                    self.text,
                    "    size = add(text, size, p{number}_r[{other}], {KEPT});"
                )?;
            }
            let variables = 0..program.variables.len();
            let values: Vec<String> = variables.map(|variable| self.load(variable)).collect();
            writeln!(
                self.text,
                "    int x[] = {{{}}};\n    size = add(text, size, x, {});",
                values.join(", "),
                values.len()
            )?;
        }
        writeln!(self.text, "    say(text, size);")?;
        if thread == 0 && program.ending == Ending::Leaves {
            writeln!(self.text, "    pthread_exit(0);")?;
        }
        Ok(())
    }

    fn statements(&mut self, statements: &[Statement], thread: usize) -> std::fmt::Result {
        for statement in statements {
            self.statement(statement, thread)?;
        }
        Ok(())
    }

    /// A byte of a variable.
    fn byte(&self, variable: usize, byte: usize) -> String {
        let volatile = match self.program.variables[variable] {
            Access::Volatile => "volatile ",
            Access::Plain | Access::Atomic => "",
        };
        format!(
            "(({volatile}unsigned char *)&p{}_x{variable})[{byte}]",
            self.number
        )
    }

    fn load(&self, variable: usize) -> String {
        let name = format!("p{}_x{variable}", self.number);
        match self.program.variables[variable] {
            Access::Atomic => format!("LOAD({name})"),
            Access::Plain | Access::Volatile => name,
        }
    }

    fn store(&self, variable: usize, value: &str) -> String {
        let name = format!("p{}_x{variable}", self.number);
        match self.program.variables[variable] {
            Access::Atomic => format!("STORE({name}, {value})"),
            Access::Plain | Access::Volatile => format!("{name} = {value}"),
        }
    }

    fn statement(&mut self, statement: &Statement, thread: usize) -> std::fmt::Result {
        let number = self.number;
        let line = match statement {
            Statement::Load(variable, register) => {
                format!("r[{register}] = {};", self.load(*variable))
            }
            Statement::Store(variable, value) => {
                format!("{};", self.store(*variable, &value.to_string()))
            }
            Statement::Increment(variable, register) => {
                let store = self.store(*variable, &format!("r[{register}] + 1"));
                format!("r[{register}] = {}; {store};", self.load(*variable))
            }
            Statement::FetchAdd(variable, register) => {
                format!("r[{register}] = atomic_fetch_add(&p{number}_x{variable}, 1);")
            }
            Statement::LoadByte(variable, byte, register) => {
                format!("r[{register}] = {};", self.byte(*variable, *byte))
            }
            Statement::StoreByte(variable, byte, value) => {
                format!("{} = {value};", self.byte(*variable, *byte))
            }
            Statement::ExchangeLoop(variable, register) => format!(
                "r[{register}] = {}; while (!atomic_compare_exchange_weak(&p{number}_x{variable}, \
                 &r[{register}], r[{register}] + 1)) {{}}",
                self.load(*variable)
            ),
            Statement::CompareExchange(variable, old, new, register) => format!(
                "r[{register}] = {old}; \
                 atomic_compare_exchange_strong(&p{number}_x{variable}, &r[{register}], {new});"
            ),
            Statement::Locked(mutex, inner) => {
                writeln!(self.text, "    pthread_mutex_lock(&p{number}_m{mutex});")?;
                self.statements(inner, thread)?;
                format!("pthread_mutex_unlock(&p{number}_m{mutex});")
            }
            Statement::TryLocked(mutex, register, inner) => {
                let lock = format!("pthread_mutex_trylock(&p{number}_m{mutex}) != 0");
                writeln!(self.text, "    if (!(r[{register}] = {lock})) {{")?;
                self.statements(inner, thread)?;
                format!("pthread_mutex_unlock(&p{number}_m{mutex}); }}")
            }
            Statement::TimedLocked(mutex, time, register, inner) => {
                let lock = format!("lock_for(&p{number}_m{mutex}, {time})");
                writeln!(self.text, "    if (!(r[{register}] = {lock})) {{")?;
                self.statements(inner, thread)?;
                format!("pthread_mutex_unlock(&p{number}_m{mutex}); }}")
            }
            Statement::Reading(inner) | Statement::Writing(inner) => {
                let writes = matches!(statement, Statement::Writing(_));
                let name = if writes { "wr" } else { "rd" };
                writeln!(self.text, "    pthread_rwlock_{name}lock(&p{number}_w);")?;
                self.statements(inner, thread)?;
                format!("pthread_rwlock_unlock(&p{number}_w);")
            }
            Statement::TryWriting(register, inner) => {
                let lock = format!("pthread_rwlock_trywrlock(&p{number}_w) != 0");
                writeln!(self.text, "    if (!(r[{register}] = {lock})) {{")?;
                self.statements(inner, thread)?;
                format!("pthread_rwlock_unlock(&p{number}_w); }}")
            }
            Statement::SpinLocked(hint, inner) => {
                let taken = format!("atomic_exchange(&p{number}_l, 1)");
                let pause = "__builtin_ia32_pause();";
                match hint {
                    Hint::None => writeln!(self.text, "    while ({taken}) {{}}")?,
                    Hint::Before => writeln!(self.text, "    do {pause} while ({taken});")?,
                    Hint::After => writeln!(self.text, "    while ({taken}) {pause}")?,
                }
                self.statements(inner, thread)?;
                format!("atomic_store(&p{number}_l, 0);")
            }
            Statement::Once(_) => unreachable!("its statements stand in a function of their own"),
            Statement::WaitWhileZero(variable) => format!(
                "while ({} == 0) pthread_cond_wait(&p{number}_c, &p{number}_m0);",
                self.load(*variable)
            ),
            Statement::Post(semaphore) => format!("sem_post(&p{number}_s{semaphore});"),
            Statement::Take(semaphore) => format!("sem_wait(&p{number}_s{semaphore});"),
            Statement::TryTake(semaphore, register) => {
                format!("r[{register}] = sem_trywait(&p{number}_s{semaphore}) != 0;")
            }
            Statement::TimedTake(semaphore, time, register) => {
                format!("r[{register}] = take_for(&p{number}_s{semaphore}, {time});")
            }
            Statement::Meet => format!("pthread_barrier_wait(&p{number}_b);"),
            Statement::Park(_)
            | Statement::Unpark(_)
            | Statement::Send(_)
            | Statement::Receive(_)
            | Statement::TryReceive(_)
            | Statement::TimedReceive(..) => unreachable!("C does not have it"),
            Statement::Elapsed(register) => format!("r[{register}] = milliseconds() - begin;"),
            Statement::StoreAtEnd(variable, value) => format!(
                "static int value = {value}; static pthread_key_t key; \
                 pthread_key_create(&key, p{number}_e{variable}); pthread_setspecific(key, &value);"
            ),
            Statement::WaitIfZero(variable) => format!(
                "if ({} == 0) pthread_cond_wait(&p{number}_c, &p{number}_m0);",
                self.load(*variable)
            ),
            Statement::WaitForAWhile(variable, time, register) => format!(
                "if ({} == 0) r[{register}] = wait_for(&p{number}_c, &p{number}_m0, {time});",
                self.load(*variable)
            ),
            Statement::Wake(true) => format!("pthread_cond_broadcast(&p{number}_c);"),
            Statement::Wake(false) => format!("pthread_cond_signal(&p{number}_c);"),
            Statement::Sleep(time) => format!("rest({time});"),
            Statement::Spin(variable, hint) => {
                let load = self.load(*variable);
                match hint {
                    Hint::None => format!("while ({load} == 0) {{}}"),
                    Hint::Before => {
                        format!("do __builtin_ia32_pause(); while ({load} == 0);")
                    }
                    Hint::After => format!("while ({load} == 0) __builtin_ia32_pause();"),
                }
            }
            Statement::SpinAtMost(variable, times, register, hint) => {
                let load = self.load(*variable);
                let (before, after) = match hint {
                    Hint::None => ("", ""),
                    Hint::Before => ("__builtin_ia32_pause(); ", ""),
                    Hint::After => ("", " __builtin_ia32_pause();"),
                };
                format!(
                    "for (int i = 0; i < {times}; i++) {{ {before}r[{register}] = {load}; if (r[{register}]) break;{after} }}"
                )
            }
            Statement::Yield => "sched_yield();".to_owned(),
            Statement::Exit => format!("say(\"exit by {thread}\\n\", 10); exit(0);"),
        };
        writeln!(self.text, "    {line}")
    }
}
