//! A worker that speaks the control protocol without any program under test: this very test
//! executable, started again by the campaign. It plays its part before `main`, because only
//! then is it on the process's first thread, which is the one that the watchdog looks at.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use raddle_abi::control::{
    CONTROL_SIZE, Control, FINDINGS_OFFSET, OUTPUT_OFFSET, PLAN_OFFSET, PlanEnd, stage,
};
use raddle_abi::finding::{FindingHeader, Kind};
use raddle_abi::plan::Plan;
use raddle_abi::{ABI_VERSION, control, env};
use raddle_campaign::Options;

/// Variable that says how the worker behaves.
pub const BEHAVIOUR: &str = "FAKE_WORKER";

/// Variable that names a file to which each worker adds a line.
pub const LOG: &str = "FAKE_WORKER_LOG";

/// The shared memory from inside.
struct Fake {
    base: *mut u8,
}

impl Fake {
    fn attach() -> Option<Self> {
        let descriptor: i32 = std::env::var(env::CONTROL).ok()?.parse().ok()?;
        // SAFETY: maps the memory that the campaign gave us.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                CONTROL_SIZE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                descriptor,
                0,
            )
        };
        assert_ne!(base, libc::MAP_FAILED);
        let fake = Self { base: base.cast() };
        assert_eq!(fake.control().magic, control::CONTROL_MAGIC);
        assert_eq!(fake.control().version, ABI_VERSION);
        Some(fake)
    }

    fn control(&self) -> &Control {
        // SAFETY: the header stands at the start of the mapping, which is never unmapped.
        unsafe { &*self.base.cast::<Control>() }
    }

    fn plan(&self) -> Plan {
        // SAFETY: the tool wrote a plan there before it raised the sequence.
        unsafe { *self.base.add(PLAN_OFFSET).cast::<Plan>() }
    }

    fn put(&self, offset: usize, bytes: &[u8]) {
        // SAFETY: all callers stay inside their area.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base.add(offset), bytes.len());
        }
    }

    fn write_finding(&self, kind: Kind, seed: u64) {
        let header = FindingHeader {
            size: size_of::<FindingHeader>() as u32,
            kind: kind as u32,
            execution: 0,
            seed,
            length: 0,
            points: 1,
            hash: 0,
            detail: [0; 2],
        };
        let control = self.control();
        let used = control.findings.load(Ordering::Relaxed) as usize;
        // SAFETY: the header is plain data without padding.
        let bytes = unsafe {
            std::slice::from_raw_parts((&raw const header).cast::<u8>(), size_of_val(&header))
        };
        self.put(FINDINGS_OFFSET + used, bytes);
        control
            .findings
            .fetch_add(bytes.len() as u32, Ordering::Release);
        control.occurrences[kind as usize].fetch_add(1, Ordering::Relaxed);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = work_if_asked;

/// Plays the worker if this process was started as one, and never returns then.
extern "C" fn work_if_asked() {
    let Ok(behaviour) = std::env::var(BEHAVIOUR) else {
        return;
    };
    if behaviour == "not instrumented" {
        std::process::exit(0);
    }
    let Some(fake) = Fake::attach() else { return };
    if let Some(log) = std::env::var_os(LOG) {
        let mut log = std::fs::OpenOptions::new().append(true).open(log).unwrap();
        writeln!(log, "{}", std::process::id()).unwrap();
    }
    let control = fake.control();
    control.stage.store(stage::STARTING, Ordering::Release);
    match behaviour.as_str() {
        "never starts" => {
            println!("cannot find the database");
            std::process::exit(3);
        }
        "hangs at start" => std::thread::sleep(Duration::from_secs(1000)),
        _ => {}
    }
    control
        .threads
        .store(if behaviour == "single" { 1 } else { 2 }, Ordering::Relaxed);
    let mut done = 0;
    loop {
        control.stage.store(stage::READY, Ordering::Release);
        while control.plan_sequence.load(Ordering::Acquire) == done {
            std::thread::sleep(Duration::from_micros(200));
        }
        done += 1;
        control.stage.store(stage::RUNNING, Ordering::Release);
        let end = run_plan(&fake, &behaviour);
        control.end.store(end as u32, Ordering::Release);
        control.done_sequence.store(done, Ordering::Release);
    }
}

fn run_plan(fake: &Fake, behaviour: &str) -> PlanEnd {
    let control = fake.control();
    let plan = fake.plan();
    let strategy = String::from_utf8_lossy(&plan.strategy).into_owned();
    let is_serial = strategy.starts_with("serial");
    let is_replay = strategy.starts_with("replay");
    control.plan_hash.store(0, Ordering::Relaxed);
    for index in 0..plan.executions {
        if control.stop.load(Ordering::Relaxed) != 0 {
            return PlanEnd::Stopped;
        }
        if plan.alone != 0 && behaviour != "single" {
            control.broken_off.fetch_add(1, Ordering::Relaxed);
            control.executions.fetch_add(1, Ordering::Release);
            continue;
        }
        let seed = plan.seed.wrapping_add(index);
        // Which one it is of the test's executions.
        let number = seed.wrapping_sub(Options::default().first_seed());
        control.seed.store(seed, Ordering::Relaxed);
        control.exit_code.store(0, Ordering::Relaxed);
        let mut hash = if is_serial { 7 } else { seed };
        match behaviour {
            "spins" => loop {
                std::hint::spin_loop();
            },
            "blocks" => std::thread::sleep(Duration::from_secs(1000)),
            "exits" => std::process::exit(5),
            "allocates" => allocate(),
            "fails" => {
                fake.put(OUTPUT_OFFSET, b"no such file");
                control.output.store(12, Ordering::Release);
                control.exit_code.store(101, Ordering::Relaxed);
                fake.write_finding(Kind::Panic, seed);
            }
            "differs" => {
                hash = u64::from(std::process::id()) ^ control.points.load(Ordering::Relaxed)
            }
            "differs interleaved" if !is_serial => hash ^= control.points.load(Ordering::Relaxed),
            "differs once" if control.points.load(Ordering::Relaxed) == 0 => hash ^= 1,
            "garbage" if !is_serial => {
                fake.put(FINDINGS_OFFSET, &[0xff; 64]);
                control.findings.store(u32::MAX, Ordering::Release);
            }
            "crashes" if !is_serial && number == 3 => crash(),
            "panics" if !is_serial && (is_replay || number % 4 == 3) => {
                fake.write_finding(Kind::Panic, seed);
            }
            "panics once" if !is_serial && !is_replay && number == 3 => {
                fake.write_finding(Kind::Panic, seed);
            }
            "is cut" if !is_serial => {
                control.cut.fetch_add(1, Ordering::Relaxed);
            }
            "is too long" => {
                control.cut.fetch_add(1, Ordering::Relaxed);
                control.points.fetch_add(plan.max_points, Ordering::Relaxed);
            }
            "slow start" if is_serial => std::thread::sleep(Duration::from_millis(500)),
            "long start" if is_serial => {
                for _ in 0..50 {
                    control.points.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            "slow" if !is_serial => std::thread::sleep(Duration::from_millis(5)),
            _ => {}
        }
        control.last_hash.store(hash, Ordering::Relaxed);
        let all = control.plan_hash.load(Ordering::Relaxed);
        control
            .plan_hash
            .store(all.wrapping_mul(31).wrapping_add(hash), Ordering::Relaxed);
        control.points.fetch_add(10, Ordering::Relaxed);
        control.executions.fetch_add(1, Ordering::Release);
    }
    PlanEnd::Complete
}

fn crash() {
    // SAFETY: ends this process, as intended.
    unsafe {
        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        libc::raise(libc::SIGSEGV);
    }
}

fn allocate() {
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    loop {
        blocks.push(vec![1; 1 << 20]);
        std::thread::sleep(Duration::from_millis(1));
    }
}
