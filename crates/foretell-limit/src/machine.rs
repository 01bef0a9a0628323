//! Memory of the machine.

use std::fs;

/// Returns the bytes of memory that are free for programs here: of the machine, and of the control
/// groups of the process. `None` where the system does not say.
pub fn available_memory() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok();
    let machine = meminfo.as_deref().and_then(available_in);
    // Version 2 of control groups, then version 1.
    let groups = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let groups = groups
        .into_iter()
        .filter_map(|file| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok());
    groups.chain(machine).min()
}

/// Returns the available memory that `/proc/meminfo` gives in KiB.
fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Returns the bytes of a size such as `512M`, `4G` or `1000000`; units are powers of 1024.
///
/// # Errors
/// A sentence, if it is no size.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size in bytes, or with K, M, G or T");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        "T" | "TB" | "TIB" => 1_u64 << 40,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    let bytes = number * unit as f64;
    if bytes >= 1.0 && bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("1000"), Ok(1000));
        assert_eq!(parse_size("2K"), Ok(2048));
        assert_eq!(parse_size("1.5GiB"), Ok(3 << 29));
        assert_eq!(parse_size("64m"), Ok(64 << 20));
        for wrong in ["", "G", "0", "-1M", "1X", "nan", "inf", "1 G", "9e99"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn available_memory_is_read_from_meminfo() {
        let text = "MemTotal:       100 kB\nMemFree: 3 kB\nMemAvailable:      42 kB\n";
        assert_eq!(available_in(text), Some(42 * 1024));
        assert_eq!(available_in("MemTotal: 1 kB\n"), None);
    }
}
