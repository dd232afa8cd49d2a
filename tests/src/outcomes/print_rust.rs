//! Programs in Rust: one crate for many, each of them a test.

use std::fmt::Write;

use super::program::{Access, Ending, Hint, KEPT, MUTEXES, Program, Statement};

const PRELUDE: &str = r#"use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::*};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Barrier, Condvar, Mutex, Once, RwLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// What threads need of each other. It is set before there are any.
struct Common {
    begin: Instant,
    main: Thread,
    unbounded: Sender<i32>,
    bounded: SyncSender<i32>,
    barrier: Barrier,
}

static mut COMMON: Option<Common> = None;

fn common() -> &'static Common {
    unsafe { (*&raw const COMMON).as_ref().unwrap() }
}

fn set_up(capacity: Option<usize>) -> ManuallyDrop<Receiver<i32>> {
    let (unbounded, endless) = mpsc::channel();
    let (bounded, limited) = mpsc::sync_channel(capacity.unwrap_or(1));
    let common = Common {
        begin: Instant::now(),
        main: std::thread::current(),
        unbounded,
        bounded,
        barrier: Barrier::new(2),
    };
    unsafe { COMMON = Some(common) };
    // Senders are never told that nobody receives.
    ManuallyDrop::new(if capacity.is_some() { limited } else { endless })
}

struct AtEnd(fn());

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.0();
    }
}

/// libtest keeps what macros print.
fn say(text: &str) {
    let mut stdout = ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(1) });
    stdout.write_all(text.as_bytes()).unwrap();
}

fn line(values: &[i32]) -> String {
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("{}\n", words.join(" "))
}
"#;

/// The source of a crate whose tests these are.
pub fn source(programs: &[Program]) -> String {
    let mut text = PRELUDE.to_owned();
    for (number, program) in programs.iter().enumerate() {
        let mut printer = Printer {
            text: &mut text,
            program,
        };
        printer.print(number).expect("a string takes everything");
    }
    text
}

struct Printer<'a> {
    text: &'a mut String,
    program: &'a Program,
}

impl Printer<'_> {
    fn print(&mut self, number: usize) -> std::fmt::Result {
        let program = self.program;
        writeln!(self.text, "\nmod p{number} {{\n    use super::*;")?;
        for (variable, access) in program.variables.iter().enumerate() {
            match access {
                Access::Plain | Access::Volatile => {
                    writeln!(self.text, "    static mut X{variable}: i32 = 0;")?;
                }
                Access::Atomic => {
                    writeln!(
                        self.text,
                        "    static X{variable}: AtomicI32 = AtomicI32::new(0);"
                    )?;
                }
            }
        }
        for mutex in 0..MUTEXES {
            writeln!(
                self.text,
                "    static M{mutex}: Mutex<()> = Mutex::new(());"
            )?;
        }
        writeln!(
            self.text,
            "    static C: Condvar = Condvar::new();\n    static W: RwLock<()> = RwLock::new(());\n\
             \x20   static O: Once = Once::new();\n    static L: AtomicBool = AtomicBool::new(false);\n\
             \x20   static mut R: [[i32; {KEPT}]; {}] = [[0; {KEPT}]; {}];",
            program.threads.len(),
            program.threads.len()
        )?;
        for thread in (0..program.threads.len()).rev() {
            self.thread(thread)?;
        }
        writeln!(self.text, "}}")
    }

    fn thread(&mut self, thread: usize) -> std::fmt::Result {
        let program = self.program;
        let receives = |thread| program.receiver == thread;
        match thread {
            0 => writeln!(
                self.text,
                "    #[test]\n    fn runs() {{ unsafe {{\n        let rx = set_up({:?});",
                program.capacity
            )?,
            _ => writeln!(
                self.text,
                "    fn t{thread}(rx: Option<ManuallyDrop<Receiver<i32>>>) {{ unsafe {{"
            )?,
        }
        if thread == 0 {
            writeln!(self.text, "        let mut rx = Some(rx);")?;
        } else {
            writeln!(self.text, "        let mut rx = rx;")?;
        }
        if receives(thread) {
            writeln!(self.text, "        let rx = rx.take().unwrap();")?;
        }
        writeln!(self.text, "        let mut r = [0; {KEPT}];")?;
        let statements = &program.threads[thread];
        for place in 0..=statements.len() {
            for (child, _) in program.started_by(thread).filter(|(_, at)| *at == place) {
                // Who receives, or starts the thread that does, gets the receiver.
                let leads_to_it =
                    receives(child) || program.started_by(child).any(|(child, _)| receives(child));
                let receiver = if leads_to_it { "rx.take()" } else { "None" };
                writeln!(
                    self.text,
                    "        let rx{child} = {receiver};\n        \
                     let t{child} = std::thread::spawn(move || t{child}(rx{child}));"
                )?;
            }
            if let Some(statement) = statements.get(place) {
                self.statement(statement, thread)?;
            }
        }
        if program.ending == Ending::Joins {
            for (child, _) in program.started_by(thread) {
                writeln!(self.text, "        t{child}.join().unwrap();")?;
            }
        }
        if thread > 0 {
            writeln!(self.text, "        R[{thread}] = r;")?;
        } else {
            self.end()?;
        }
        writeln!(self.text, "    }}}}")
    }

    fn end(&mut self) -> std::fmt::Result {
        let program = self.program;
        writeln!(self.text, "        let mut text = line(&r);")?;
        if program.ending == Ending::Joins {
            for other in 1..program.threads.len() {
                writeln!(self.text, "        text += &line(&*&raw const R[{other}]);")?;
            }
            let variables = 0..program.variables.len();
            let values: Vec<String> = variables.map(|variable| self.load(variable)).collect();
            writeln!(
                self.text,
                "        text += &line(&[{}]);",
                values.join(", ")
            )?;
        }
        writeln!(self.text, "        say(&text);")
    }

    fn statements(&mut self, statements: &[Statement], thread: usize) -> std::fmt::Result {
        for statement in statements {
            self.statement(statement, thread)?;
        }
        Ok(())
    }

    fn load(&self, variable: usize) -> String {
        match self.program.variables[variable] {
            Access::Plain => format!("X{variable}"),
            Access::Volatile => format!("(&raw const X{variable}).read_volatile()"),
            Access::Atomic => format!("X{variable}.load(Relaxed)"),
        }
    }

    fn store(&self, variable: usize, value: &str) -> String {
        match self.program.variables[variable] {
            Access::Plain => format!("X{variable} = {value}"),
            Access::Volatile => format!("(&raw mut X{variable}).write_volatile({value})"),
            Access::Atomic => format!("X{variable}.store({value}, Relaxed)"),
        }
    }

    /// The method that reads or writes a byte of a variable, which is not atomic.
    fn byte_access(&self, variable: usize, method: &'static str) -> String {
        match self.program.variables[variable] {
            Access::Volatile => format!("{method}_volatile"),
            Access::Plain | Access::Atomic => method.to_owned(),
        }
    }

    fn statement(&mut self, statement: &Statement, thread: usize) -> std::fmt::Result {
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
                format!("r[{register}] = X{variable}.fetch_add(1, SeqCst);")
            }
            Statement::LoadByte(variable, byte, register) => {
                let read = self.byte_access(*variable, "read");
                format!(
                    "r[{register}] = i32::from((&raw const X{variable}).cast::<u8>().add({byte}).{read}());"
                )
            }
            Statement::StoreByte(variable, byte, value) => {
                let write = self.byte_access(*variable, "write");
                format!("(&raw mut X{variable}).cast::<u8>().add({byte}).{write}({value});")
            }
            Statement::ExchangeLoop(variable, register) => format!(
                "r[{register}] = X{variable}.fetch_update(SeqCst, Relaxed, |value| Some(value + 1)).unwrap();"
            ),
            Statement::CompareExchange(variable, old, new, register) => format!(
                "r[{register}] = X{variable}.compare_exchange({old}, {new}, SeqCst, Relaxed).unwrap_or_else(|other| other);"
            ),
            Statement::Locked(mutex, inner) => {
                writeln!(
                    self.text,
                    "        {{ let mut guard = M{mutex}.lock().unwrap();"
                )?;
                self.statements(inner, thread)?;
                "drop(guard); }".to_owned()
            }
            Statement::TryLocked(mutex, register, inner) => {
                writeln!(
                    self.text,
                    "        if let Ok(guard) = M{mutex}.try_lock() {{ r[{register}] = 0;"
                )?;
                self.statements(inner, thread)?;
                format!("drop(guard); }} else {{ r[{register}] = 1; }}")
            }
            Statement::Reading(inner) => {
                writeln!(self.text, "        {{ let guard = W.read().unwrap();")?;
                self.statements(inner, thread)?;
                "drop(guard); }".to_owned()
            }
            Statement::Writing(inner) => {
                writeln!(self.text, "        {{ let guard = W.write().unwrap();")?;
                self.statements(inner, thread)?;
                "drop(guard); }".to_owned()
            }
            Statement::TryWriting(register, inner) => {
                writeln!(
                    self.text,
                    "        if let Ok(guard) = W.try_write() {{ r[{register}] = 0;"
                )?;
                self.statements(inner, thread)?;
                format!("drop(guard); }} else {{ r[{register}] = 1; }}")
            }
            Statement::SpinLocked(hint, inner) => {
                let pause = "std::hint::spin_loop();";
                let taken = "L.swap(true, SeqCst)";
                let lock = match hint {
                    Hint::None => format!("while {taken} {{}}"),
                    Hint::Before => format!("loop {{ {pause} if !{taken} {{ break; }} }}"),
                    Hint::After => format!("while {taken} {{ {pause} }}"),
                };
                writeln!(self.text, "        {lock}")?;
                self.statements(inner, thread)?;
                "L.store(false, SeqCst);".to_owned()
            }
            Statement::Once(inner) => {
                writeln!(self.text, "        O.call_once(|| {{")?;
                self.statements(inner, thread)?;
                "});".to_owned()
            }
            Statement::WaitWhileZero(variable) => format!(
                "while {} == 0 {{ guard = C.wait(guard).unwrap(); }}",
                self.load(*variable)
            ),
            Statement::TimedLocked(..)
            | Statement::Post(_)
            | Statement::Take(_)
            | Statement::TryTake(..)
            | Statement::TimedTake(..) => unreachable!("Rust does not have it"),
            Statement::Meet => "common().barrier.wait();".to_owned(),
            Statement::Park(None) => "std::thread::park();".to_owned(),
            Statement::Park(Some(time)) => {
                format!("std::thread::park_timeout(Duration::from_millis({time}));")
            }
            Statement::Unpark(0) => "common().main.unpark();".to_owned(),
            Statement::Unpark(other) => format!("t{other}.thread().unpark();"),
            Statement::Send(value) => {
                let sender = match self.program.capacity {
                    Some(_) => "bounded",
                    None => "unbounded",
                };
                format!("_ = common().{sender}.send({value});")
            }
            Statement::Receive(register) => format!("r[{register}] = rx.recv().unwrap();"),
            Statement::TryReceive(register) => {
                format!("r[{register}] = rx.try_recv().unwrap_or(-1);")
            }
            Statement::TimedReceive(time, register) => format!(
                "r[{register}] = rx.recv_timeout(Duration::from_millis({time})).unwrap_or(-1);"
            ),
            Statement::Elapsed(register) => {
                format!("r[{register}] = common().begin.elapsed().as_millis() as i32;")
            }
            Statement::StoreAtEnd(variable, value) => format!(
                "thread_local! {{ static E: AtEnd = const {{ AtEnd(|| unsafe {{ {} }}) }}; }} E.with(|_| ());",
                self.store(*variable, &value.to_string())
            ),
            Statement::WaitIfZero(variable) => {
                format!(
                    "if {} == 0 {{ guard = C.wait(guard).unwrap(); }}",
                    self.load(*variable)
                )
            }
            Statement::WaitForAWhile(variable, time, register) => format!(
                "if {} == 0 {{ let (again, ended) = C.wait_timeout(guard, Duration::from_millis({time})).unwrap(); \
                 guard = again; r[{register}] = i32::from(ended.timed_out()); }}",
                self.load(*variable)
            ),
            Statement::Wake(true) => "C.notify_all();".to_owned(),
            Statement::Wake(false) => "C.notify_one();".to_owned(),
            Statement::Sleep(time) => format!("std::thread::sleep(Duration::from_millis({time}));"),
            Statement::Spin(variable, hint) => {
                let load = self.load(*variable);
                match hint {
                    Hint::None => format!("while {load} == 0 {{}}"),
                    Hint::Before => {
                        format!("loop {{ std::hint::spin_loop(); if {load} != 0 {{ break; }} }}")
                    }
                    Hint::After => format!("while {load} == 0 {{ std::hint::spin_loop(); }}"),
                }
            }
            Statement::SpinAtMost(variable, times, register, hint) => {
                let load = self.load(*variable);
                let (before, after) = match hint {
                    Hint::None => ("", ""),
                    Hint::Before => ("std::hint::spin_loop(); ", ""),
                    Hint::After => ("", " std::hint::spin_loop();"),
                };
                format!(
                    "for _ in 0..{times} {{ {before}r[{register}] = {load}; if r[{register}] != 0 {{ break; }}{after} }}"
                )
            }
            Statement::Yield => "std::thread::yield_now();".to_owned(),
            Statement::Exit => format!("say(\"exit by {thread}\\n\"); std::process::exit(0);"),
        };
        writeln!(self.text, "        {line}")
    }
}
