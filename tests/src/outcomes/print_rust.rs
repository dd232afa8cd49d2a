//! Programs in Rust: one crate for many, each of them a test.

use std::fmt::Write;

use super::program::{Access, Hint, KEPT, MUTEXES, Program, Statement};

const PRELUDE: &str = r#"use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicI32, Ordering::*};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

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
        writeln!(self.text, "    static C: Condvar = Condvar::new();")?;
        for thread in (0..program.threads.len()).rev() {
            self.thread(thread)?;
        }
        writeln!(self.text, "}}")
    }

    fn thread(&mut self, thread: usize) -> std::fmt::Result {
        let program = self.program;
        let others = 1..program.threads.len();
        match thread {
            0 => writeln!(self.text, "    #[test]\n    fn runs() {{ unsafe {{")?,
            _ => writeln!(
                self.text,
                "    fn t{thread}() -> [i32; {KEPT}] {{ unsafe {{"
            )?,
        }
        writeln!(self.text, "        let mut r = [0; {KEPT}];")?;
        if thread == 0 {
            for other in others.clone() {
                writeln!(
                    self.text,
                    "        let t{other} = std::thread::spawn(t{other});"
                )?;
            }
        }
        for statement in &program.threads[thread] {
            self.statement(statement, thread)?;
        }
        if thread == 0 {
            if program.joins {
                for other in others.clone() {
                    writeln!(
                        self.text,
                        "        let r{other} = t{other}.join().unwrap();"
                    )?;
                }
            }
            writeln!(self.text, "        let mut text = line(&r);")?;
            if program.joins {
                for other in others {
                    writeln!(self.text, "        text += &line(&r{other});")?;
                }
                let values: Vec<String> = (0..program.variables.len())
                    .map(|variable| self.load(variable))
                    .collect();
                writeln!(
                    self.text,
                    "        text += &line(&[{}]);",
                    values.join(", ")
                )?;
            }
            writeln!(self.text, "        say(&text);")?;
        } else {
            writeln!(self.text, "        r")?;
        }
        writeln!(self.text, "    }}}}")
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
            Statement::Locked(mutex, inner) => {
                writeln!(
                    self.text,
                    "        let mut guard = M{mutex}.lock().unwrap();"
                )?;
                for statement in inner {
                    self.statement(statement, thread)?;
                }
                "drop(guard);".to_owned()
            }
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
