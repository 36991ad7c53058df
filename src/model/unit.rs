//! Durations and sizes as people write them: `"6h"`, `"512M"`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration, written as `"90s"`, `"5m"`, `"1h30m"`, `"90d"` or `"500ms"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan(pub Duration);

/// A number of bytes, written as `"64k"`, `"20M"`, `"1G"` or a bare count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

/// Why a duration or a size could not be read; the message says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    #[error("`{0}` is not a duration; write for example \"90s\", \"5m\", \"6h\" or \"1h30m\"")]
    Span(String),
    #[error("`{0}` is not a size; write for example \"64k\", \"20M\" or \"1G\"")]
    Size(String),
}

impl TimeSpan {
    pub const fn seconds(seconds: u64) -> TimeSpan {
        TimeSpan(Duration::from_secs(seconds))
    }
}

impl FromStr for TimeSpan {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<TimeSpan, UnitError> {
        let bad = || UnitError::Span(text.to_owned());
        let mut rest = text.trim();
        let mut total_ms: u64 = 0;
        if rest.is_empty() {
            return Err(bad());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
            let count: u64 = rest[..digits].parse().map_err(|_| bad())?;
            let after = &rest[digits..];
            let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
            let unit_ms: u64 = match &after[..letters] {
                "ms" => 1,
                "s" => 1_000,
                "m" | "min" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                "w" => 7 * 86_400_000,
                _ => return Err(bad()),
            };
            let part = count.checked_mul(unit_ms).ok_or_else(bad)?;
            total_ms = total_ms.checked_add(part).ok_or_else(bad)?;
            rest = after[letters..].trim_start();
        }
        Ok(TimeSpan(Duration::from_millis(total_ms)))
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ms = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if ms == 0 {
            return f.write_str("0s");
        }
        for (unit_ms, unit) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")] {
            if ms >= unit_ms {
                write!(f, "{}{unit}", ms / unit_ms)?;
                ms %= unit_ms;
            }
        }
        Ok(())
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<ByteSize, UnitError> {
        let bad = || UnitError::Size(text.to_owned());
        let text_trimmed = text.trim();
        let digits = text_trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(text_trimmed.len());
        let count: u64 = text_trimmed[..digits].parse().map_err(|_| bad())?;
        let factor: u64 = match text_trimmed[digits..].trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1 << 30,
            _ => return Err(bad()),
        };
        count.checked_mul(factor).map(ByteSize).ok_or_else(bad)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (factor, unit) in [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "k")] {
            if self.0 >= factor && self.0.is_multiple_of(factor) {
                return write!(f, "{}{unit}", self.0 / factor);
            }
        }
        write!(f, "{}", self.0)
    }
}

macro_rules! as_text {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
as_text!(TimeSpan);
as_text!(ByteSize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_and_print_as_people_write_them() {
        for (text, ms, printed) in [
            ("90s", 90_000, "1m30s"),
            ("1h30m", 5_400_000, "1h30m"),
            ("500ms", 500, "500ms"),
            ("90d", 90 * 86_400_000, "90d"),
            ("0s", 0, "0s"),
        ] {
            let span: TimeSpan = text.parse().expect("a span of the table");
            assert_eq!((span.0.as_millis(), span.to_string().as_str()), (ms, printed), "{text}");
        }
        for text in ["", "5", "h", "5 parsecs", "-3s", "99999999999999999999s", "18446744073709551615w"] {
            assert!(text.parse::<TimeSpan>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_read_and_print_as_people_write_them() {
        for (text, bytes, printed) in
            [("512M", 512 << 20, "512M"), ("64kB", 64 << 10, "64k"), ("1G", 1 << 30, "1G"), ("1000", 1000, "1000")]
        {
            let size: ByteSize = text.parse().expect("a size of the table");
            assert_eq!((size.0, size.to_string().as_str()), (bytes, printed), "{text}");
        }
        for text in ["", "M", "-1M", "1.5G", "20 parsecs", "99999999999G"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }
}
