//! What the program reads in files of `/proc` that change from run to run: ids, times, sizes and counts have
//! the same values in every process.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What the texts say about the program.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Id of the process.
    pub process: usize,
    /// Id of the parent process.
    pub parent: usize,
    /// Id of the thread that the file is about; the process's id for the file of the process.
    pub thread: usize,
    /// Number of threads.
    pub threads: usize,
    /// Virtual time since the start of the program, in hundredths of a second.
    pub hundredths: u64,
}

/// Memory that the program is said to have, in pages and in KiB.
const SIZE_PAGES: usize = 16_384;
const RESIDENT_PAGES: usize = 4_096;
const KIB_PER_PAGE: usize = 4;
const PAGE: usize = 4_096;

/// `/proc/self/stat`.
pub fn stat(text: &str, facts: &Facts) -> String {
    let Some((start, end)) = text.find('(').zip(text.rfind(')')) else {
        return text.to_string();
    };
    // Fields count from 1; the id and the name of the program are the first two.
    let fields = text[end + 1..].split_ascii_whitespace();
    let fields = fields.zip(3..).map(|(field, number)| match number {
        3 => "R".to_string(),
        4 => facts.parent.to_string(),
        5 | 6 => facts.process.to_string(),
        8 => "-1".to_string(),
        14 => facts.hundredths.to_string(),
        20 => facts.threads.to_string(),
        23 => (SIZE_PAGES * PAGE).to_string(),
        24 => RESIDENT_PAGES.to_string(),
        // Terminal, priorities, limits and policy stay.
        7 | 18 | 19 | 25 | 38 | 40 | 41 | 52 => field.to_string(),
        _ => "0".to_string(),
    });
    let fields: Vec<String> = fields.collect();
    let name = &text[start..=end];
    format!("{} {name} {}\n", facts.thread, fields.join(" "))
}

/// `/proc/self/status`.
pub fn status(text: &str, facts: &Facts) -> String {
    let mut result = String::new();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = match key {
            "State" => "R (running)".to_string(),
            "Tgid" | "NStgid" | "NSpgid" | "NSsid" => facts.process.to_string(),
            "Pid" | "NSpid" => facts.thread.to_string(),
            "PPid" => facts.parent.to_string(),
            // No other process shares its memory's node.
            "Ngid" => "0".to_string(),
            "Threads" => facts.threads.to_string(),
            "VmPeak" | "VmSize" => kib(SIZE_PAGES),
            "VmHWM" | "VmRSS" => kib(RESIDENT_PAGES),
            "SigPnd" | "ShdPnd" | "SigBlk" | "SigIgn" | "SigCgt" => "0".repeat(16),
            // The kernel makes the table of a process as large as its parent had use for.
            "FDSize" => "64".to_string(),
            "voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches" => "0".to_string(),
            // Queued signals of the user, of how many.
            "SigQ" => format!("0/{}", value.split('/').nth(1).unwrap_or("0")),
            _ if key.starts_with("Vm") || key.starts_with("Rss") => kib(RESIDENT_PAGES / 4),
            _ => value.trim_start_matches('\t').to_string(),
        };
        result.push_str(&format!("{key}:\t{value}\n"));
    }
    result
}

fn kib(pages: usize) -> String {
    format!("{:8} kB", pages * KIB_PER_PAGE)
}

/// `/proc/self/statm`.
pub fn statm() -> String {
    format!("{SIZE_PAGES} {RESIDENT_PAGES} 1024 256 0 1024 0\n")
}

/// `/proc/uptime`: the processors had nothing to do all the time.
pub fn uptime(facts: &Facts) -> String {
    let (seconds, rest) = (facts.hundredths / 100, facts.hundredths % 100);
    format!("{seconds}.{rest:02} {seconds}.{rest:02}\n")
}

/// `/proc/loadavg`.
pub fn load(facts: &Facts) -> String {
    format!("0.00 0.00 0.00 1/{} {}\n", facts.threads, facts.process)
}

/// `/proc/sys/kernel/random/uuid`: a random id, version 4.
pub fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts = Facts {
        process: 5_000_000,
        parent: 4_999_999,
        thread: 5_000_002,
        threads: 3,
        hundredths: 1_234,
    };

    #[test]
    fn two_runs_of_a_program_read_the_same() {
        let runs = [
            "17 (a) b) S 16 17 16 34816 17 4194304 99 0 1 0 5 6 0 0 20 0 9 0 1111 9000 700 \
             18446744073709551615 1 2 3 4 5 0 0 4096 17000 0 0 0 17 1 0 0 0 0 0 1 2 3 4 5 6 7 0\n",
            "88 (a) b) S 77 88 77 34816 88 4194304 98 0 2 0 7 8 0 0 20 0 7 0 2222 9999 777 \
             18446744073709551615 9 8 7 6 5 0 0 4096 17000 0 0 0 17 0 0 0 0 0 0 9 8 7 6 5 4 3 0\n",
        ];
        let texts = runs.map(|run| stat(run, &FACTS));
        assert_eq!(texts[0], texts[1]);
        assert!(texts[0].starts_with("5000002 (a) b) R 4999999 5000000 5000000 34816 -1 0 "));
        assert_eq!(texts[0].split(' ').count(), runs[0].split(' ').count());
    }

    #[test]
    fn a_status_names_virtual_ids_and_keeps_the_rest() {
        let text = "Name:\tprog\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t17\nPid:\t18\nPPid:\t16\n\
                    FDSize:\t256\nNSpid:\t18\t1\nVmRSS:\t     100 kB\nThreads:\t9\nSigQ:\t3/95\n\
                    voluntary_ctxt_switches:\t55\n";
        let expected = "Name:\tprog\nUmask:\t0022\nState:\tR (running)\nTgid:\t5000000\n\
                        Pid:\t5000002\nPPid:\t4999999\nFDSize:\t64\nNSpid:\t5000002\nVmRSS:\t   16384 kB\n\
                        Threads:\t3\nSigQ:\t0/95\nvoluntary_ctxt_switches:\t0\n";
        assert_eq!(status(text, &FACTS), expected);
    }

    #[test]
    fn other_files_have_their_usual_form() {
        assert_eq!(uptime(&FACTS), "12.34 12.34\n");
        assert_eq!(load(&FACTS), "0.00 0.00 0.00 1/3 5000000\n");
        assert_eq!(statm().split(' ').count(), 7);
        let id = uuid([0xff; 16]);
        assert_eq!(id, "ffffffff-ffff-4fff-bfff-ffffffffffff\n");
    }
}
