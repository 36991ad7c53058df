//! A page that a run has kept, looked at with a person. The same sealed process as a run's, and no request goes out.

use crate::study::{self, Answer, Ask, Question, Study};
use crate::wire::{MAX_FRAME, Message};

use super::report_with;

/// Bytes that a stored page may unpack to: it was within the task's limit when it was fetched.
pub(super) const MAX_UNPACKED: usize = 64 << 20;
/// A page above this does not go back in one frame, together with what was found on it.
pub(super) const MAX_BODY: usize = MAX_FRAME / 2;

/// What a message has around its answer.
const FRAME_ITSELF: usize = 1 << 10;

/// Says the answer, and the bytes that go with it.
pub fn run(question: Question, packed: &[u8]) {
    let (answer, raw) = answer(question, packed);
    report_with(&Message::Studied { answer }, &raw);
}

fn answer(question: Question, packed: &[u8]) -> (Answer, Vec<u8>) {
    let Ok(body) = zstd::bulk::decompress(packed, MAX_UNPACKED) else {
        return (Answer::Refused("the stored page is damaged; run the task again".to_owned()), Vec::new());
    };
    if matches!(question.ask, Ask::Take(..)) && body.len() > MAX_BODY {
        let sentence = "the page is too large to be kept as a sample; `pieme label` can take it";
        return (Answer::Refused(sentence.to_owned()), Vec::new());
    }
    let (answer, raw) = study::answer(Study::new(question.known, body), &question.ask);
    let json = serde_json::to_vec(&answer).map_or(usize::MAX, |json| json.len());
    if json.saturating_add(raw.len()) > MAX_FRAME - FRAME_ITSELF {
        let sentence = "the list is too long to be taken here; `pieme label` can take it";
        return (Answer::Refused(sentence.to_owned()), Vec::new());
    }
    (answer, raw)
}
