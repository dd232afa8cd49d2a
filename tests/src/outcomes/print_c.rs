//! Programs in C: one file for many, the argument of `main` says which of them runs.

use std::fmt::Write;

use super::program::{Access, Hint, KEPT, MUTEXES, Program, Statement};

const PRELUDE: &str = r#"#include <pthread.h>
#include <sched.h>
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

static int wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, int milliseconds) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += milliseconds * 1000000L;
    time.tv_sec += time.tv_nsec / 1000000000L;
    time.tv_nsec %= 1000000000L;
    return pthread_cond_timedwait(condition, mutex, &time) != 0;
}

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
        }
        for mutex in 0..MUTEXES {
            writeln!(
                self.text,
                "static pthread_mutex_t p{number}_m{mutex} = PTHREAD_MUTEX_INITIALIZER;"
            )?;
        }
        writeln!(
            self.text,
            "static pthread_cond_t p{number}_c = PTHREAD_COND_INITIALIZER;"
        )?;
        let threads = program.threads.len();
        writeln!(self.text, "static int p{number}_r[{threads}][{KEPT}];")?;
        for thread in (0..threads).rev() {
            self.thread(thread)?;
        }
        Ok(())
    }

    fn thread(&mut self, thread: usize) -> std::fmt::Result {
        let (number, program) = (self.number, self.program);
        let others = 1..program.threads.len();
        writeln!(
            self.text,
            "static void *p{number}_t{thread}(void *unused) {{\n    int r[{KEPT}] = {{0}};"
        )?;
        if thread == 0 {
            writeln!(self.text, "    pthread_t t[{}];", program.threads.len())?;
            for other in others.clone() {
                writeln!(
                    self.text,
                    "    pthread_create(&t[{other}], 0, p{number}_t{other}, 0);"
                )?;
            }
        }
        for statement in &program.threads[thread] {
            self.statement(statement, thread)?;
        }
        if thread == 0 {
            writeln!(self.text, "    char text[512];\n    int size = 0;")?;
            if program.joins {
                for other in others.clone() {
                    writeln!(self.text, "    pthread_join(t[{other}], 0);")?;
                }
            }
            writeln!(self.text, "    size = add(text, size, r, {KEPT});")?;
            if program.joins {
                for other in others {
                    writeln!(
                        self.text,
                        "    size = add(text, size, p{number}_r[{other}], {KEPT});"
                    )?;
                }
                let values: Vec<String> = (0..program.variables.len())
                    .map(|variable| self.load(variable))
                    .collect();
                writeln!(
                    self.text,
                    "    int x[] = {{{}}};\n    size = add(text, size, x, {});",
                    values.join(", "),
                    values.len()
                )?;
            }
            writeln!(self.text, "    say(text, size);")?;
        } else if program.joins {
            writeln!(
                self.text,
                "    for (int i = 0; i < {KEPT}; i++)\n        p{number}_r[{thread}][i] = r[i];"
            )?;
        }
        writeln!(self.text, "    return 0;\n}}")
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
            Statement::Locked(mutex, inner) => {
                writeln!(self.text, "    pthread_mutex_lock(&p{number}_m{mutex});")?;
                for statement in inner {
                    self.statement(statement, thread)?;
                }
                format!("pthread_mutex_unlock(&p{number}_m{mutex});")
            }
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
