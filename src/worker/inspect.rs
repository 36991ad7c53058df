//! Answers the questions of a labelling session about a stored page. Runs in the same sandbox as a run and sends no
//! requests.

use crate::labelling::page;
use crate::labelling::page::{LabellingAnswer, LabellingQuestion, LabellingRequest, PageLabeller};
use crate::protocol::bounds::{MAX_PAGE_BYTES, MAX_SENTENCE_BYTES, cut};
use crate::protocol::{FrameKind, InspectAnswer, InspectJob, budgets};

/// Maximum decompressed size of a stored page, which was within the task's limit when it was fetched.
pub(super) const MAX_UNPACKED: usize = 64 << 20;

/// The answer with its raw bytes.
pub fn answer(job: InspectJob, packed: &[u8]) -> (InspectAnswer, Vec<u8>) {
    match answer_request(job.request, packed) {
        (LabellingAnswer::Refused(sentence), raw) => {
            (InspectAnswer(LabellingAnswer::Refused(cut(sentence, MAX_SENTENCE_BYTES))), raw)
        }
        (answer, raw) => (InspectAnswer(answer), raw),
    }
}

fn answer_request(question: LabellingRequest, packed: &[u8]) -> (LabellingAnswer, Vec<u8>) {
    let Ok(body) = zstd::bulk::decompress(packed, MAX_UNPACKED) else {
        return (LabellingAnswer::Refused("The stored page is damaged. Run the task again.".to_owned()), Vec::new());
    };
    if matches!(question.ask, LabellingQuestion::Take(..)) && body.len() > MAX_PAGE_BYTES {
        let sentence = "The page is too large for the dashboard. Use `pieme label` in a terminal.";
        return (LabellingAnswer::Refused(sentence.to_owned()), Vec::new());
    }
    let (answer, raw) = page::answer(PageLabeller::new(question.known, body), &question.ask);
    let fits = |json: Vec<u8>| budgets::fits(FrameKind::Inspection, &json, raw.len());
    if !serde_json::to_vec(&answer).is_ok_and(fits) {
        let sentence = "The list is too long for the dashboard. Use `pieme label` in a terminal.";
        return (LabellingAnswer::Refused(sentence.to_owned()), Vec::new());
    }
    (answer, raw)
}
