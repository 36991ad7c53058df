//! Formats durations in short form.

use chrono::TimeDelta;

pub fn ago(time: TimeDelta) -> String {
    if time < TimeDelta::seconds(1) { "now".to_owned() } else { format!("{} ago", short(time)) }
}

pub fn ahead(time: TimeDelta) -> String {
    if time < TimeDelta::seconds(1) { "now".to_owned() } else { format!("in {}", short(time)) }
}

/// One unit: `45s`, `12m`, `5h`, `3d`.
pub fn short(time: TimeDelta) -> String {
    let seconds = time.num_seconds().abs();
    match seconds {
        0..100 => format!("{seconds}s"),
        100..6_000 => format!("{}m", seconds / 60),
        6_000..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (seconds, text) in
            [(0, "now"), (45, "45s ago"), (720, "12m ago"), (5 * 3_600, "5h ago"), (259_200, "3d ago")]
        {
            assert_eq!(ago(TimeDelta::seconds(seconds)), text);
        }
        assert_eq!(ahead(TimeDelta::seconds(-3)), "now");
        assert_eq!(ahead(TimeDelta::seconds(30)), "in 30s");
    }
}
