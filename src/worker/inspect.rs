//! A page that a run has kept, looked at with a person. The same sealed process as a run's, and no request goes out.

use crate::labelling::page;
use crate::labelling::page::{LabellingAnswer, LabellingQuestion, LabellingRequest, PageLabeller};
use crate::protocol::{MAX_FRAME, Message};

use super::report_with;

/// Bytes that a stored page may unpack to: it was within the task's limit when it was fetched.
pub(super) const MAX_UNPACKED: usize = 64 << 20;
/// A page above this does not go back in one frame, together with what was found on it.
pub(super) const MAX_BODY: usize = MAX_FRAME / 2;

/// What a message has around its answer.
const FRAME_OVERHEAD: usize = 1 << 10;

/// Says the answer, and the bytes that go with it.
pub fn run(question: LabellingRequest, packed: &[u8]) {
    let (answer, raw) = answer(question, packed);
    report_with(&Message::Inspected { answer }, &raw);
}

fn answer(question: LabellingRequest, packed: &[u8]) -> (LabellingAnswer, Vec<u8>) {
    let Ok(body) = zstd::bulk::decompress(packed, MAX_UNPACKED) else {
        return (LabellingAnswer::Refused("the stored page is damaged; run the task again".to_owned()), Vec::new());
    };
    if matches!(question.ask, LabellingQuestion::Take(..)) && body.len() > MAX_BODY {
        let sentence = "the page is too large to be kept as a sample; `pieme label` can take it";
        return (LabellingAnswer::Refused(sentence.to_owned()), Vec::new());
    }
    let (answer, raw) = page::answer(PageLabeller::new(question.known, body), &question.ask);
    let json = serde_json::to_vec(&answer).map_or(usize::MAX, |json| json.len());
    if json.saturating_add(raw.len()) > MAX_FRAME - FRAME_OVERHEAD {
        let sentence = "the list is too long to be taken here; `pieme label` can take it";
        return (LabellingAnswer::Refused(sentence.to_owned()), Vec::new());
    }
    (answer, raw)
}
