//! Reads single key presses in the terminal's raw mode.
//!
//! Raw mode lasts for one key only, so that nothing between two keys can leave the terminal in it. While it lasts,
//! Ctrl-C is an ordinary key and cannot end the program before the terminal is restored.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use nix::sys::termios::{
    FlushArg, LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcflush, tcgetattr, tcsetattr,
};

use crate::model::for_terminal;

/// What was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyPress {
    Enter,
    Char(char),
    Left,
    Right,
    /// Ctrl-C, Ctrl-D, or the end of input.
    Leave,
    /// A key without a function.
    Other,
}

const ESCAPE: u8 = 0x1b;
const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
/// How long to wait for the rest of an escape sequence, in tenths of a second.
const SEQUENCE_TIMEOUT: u8 = 1;
/// Bytes of the longest known escape sequence.
const MAX_SEQUENCE: usize = 8;

/// Shows the question and waits for a key.
pub(super) fn read_key(question: &str) -> io::Result<KeyPress> {
    let quiet = RawTerminal::begin()?;
    let mut stdout = io::stdout().lock();
    write!(stdout, "{}", for_terminal(question))?;
    stdout.flush()?;
    // Byte by byte: what follows the key belongs to the next reader.
    let mut terminal = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut pressed = Vec::new();
    while !is_complete(&pressed) {
        if pressed == [ESCAPE] {
            quiet.wait(0, SEQUENCE_TIMEOUT)?;
        }
        let mut next = [0];
        match terminal.read(&mut next)? {
            0 => break,
            _ => pressed.push(next[0]),
        }
    }
    writeln!(stdout)?;
    Ok(key(&pressed))
}

/// Discards keys that were typed before the question was shown.
pub(super) fn discard_input() {
    // Fails only where stdin is no terminal.
    let _ = tcflush(io::stdin(), FlushArg::TCIFLUSH);
}

fn is_complete(pressed: &[u8]) -> bool {
    match pressed {
        [] | [ESCAPE] | [ESCAPE, b'[' | b'O'] => false,
        [ESCAPE, b'[' | b'O', .., last] => (0x40..=0x7e).contains(last) || pressed.len() >= MAX_SEQUENCE,
        [first @ 0xc0..=0xff, rest @ ..] => rest.len() >= (first.leading_ones() as usize).min(4) - 1,
        _ => true,
    }
}

fn key(pressed: &[u8]) -> KeyPress {
    match pressed {
        // Ctrl-D arrives as a zero byte if it was typed before raw mode.
        [] | [0 | CTRL_C | CTRL_D] => KeyPress::Leave,
        [b'\r' | b'\n'] => KeyPress::Enter,
        [ESCAPE, b'[' | b'O', b'C'] => KeyPress::Right,
        [ESCAPE, b'[' | b'O', b'D'] => KeyPress::Left,
        [byte] if byte.is_ascii_graphic() => KeyPress::Char(char::from(*byte)),
        _ => KeyPress::Other,
    }
}

/// Raw mode without echo; restored on drop.
struct RawTerminal {
    before: Termios,
    now: Termios,
}

impl RawTerminal {
    fn begin() -> io::Result<RawTerminal> {
        let before = tcgetattr(io::stdin())?;
        let mut now = before.clone();
        now.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG | LocalFlags::IEXTEN);
        let quiet = RawTerminal { before, now };
        quiet.wait(1, 0)?;
        Ok(quiet)
    }

    /// Sets how many bytes, or tenths of a second, a read waits for.
    fn wait(&self, bytes: u8, tenths: u8) -> io::Result<()> {
        let mut now = self.now.clone();
        now.control_chars[SpecialCharacterIndices::VMIN as usize] = bytes;
        now.control_chars[SpecialCharacterIndices::VTIME as usize] = tenths;
        // TCSANOW keeps what was typed ahead.
        Ok(tcsetattr(io::stdin(), SetArg::TCSANOW, &now)?)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // Fails only where the terminal is gone.
        let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first key and its length in bytes.
    fn first(typed: &[u8]) -> (KeyPress, usize) {
        let length = (1..=typed.len()).find(|&length| is_complete(&typed[..length])).unwrap_or(typed.len());
        (key(&typed[..length]), length)
    }

    #[test]
    fn keys_are_told_apart() {
        for (typed, key, length) in [
            (&b"s\n"[..], KeyPress::Char('s'), 1),
            (b"\ns", KeyPress::Enter, 1),
            (b"\r", KeyPress::Enter, 1),
            (b"\x1b[C2", KeyPress::Right, 3),
            (b"\x1bOD", KeyPress::Left, 3),
            (b"\x1b[1;5Cx", KeyPress::Other, 6),
            (b"\x1b[3~x", KeyPress::Other, 4),
            (b"\x1b[;;;;;;;;;;", KeyPress::Other, MAX_SEQUENCE),
            (b"\x1b", KeyPress::Other, 1),
            (b"\x03", KeyPress::Leave, 1),
            (b"\x04", KeyPress::Leave, 1),
            (b"", KeyPress::Leave, 0),
            ("ä1".as_bytes(), KeyPress::Other, 2),
        ] {
            assert_eq!(first(typed), (key, length), "{typed:?}");
        }
    }
}
