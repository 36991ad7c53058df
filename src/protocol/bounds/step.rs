//! Bounds of the messages of a stepping session.

use super::run::check_request;
use super::{
    BoundedMessage, MAX_COOKIES_BYTES, MAX_PAGE_BYTES, MAX_STEP_JSON_BYTES, MAX_STEPS, OutOfBounds, bytes, json,
    optional_text, verbs,
};
use crate::protocol::kinds::FrameKind;
use crate::protocol::messages::StepMessage;

impl BoundedMessage for StepMessage {
    fn kinds() -> &'static [FrameKind] {
        &[FrameKind::Request, FrameKind::State]
    }

    fn check(&self, raw_bytes: usize) -> Result<(), OutOfBounds> {
        match self {
            StepMessage::Request(request) => {
                bytes("raw bytes", raw_bytes, 0)?;
                check_request(request)
            }
            StepMessage::State(state) => {
                bytes("raw bytes", raw_bytes, MAX_PAGE_BYTES)?;
                bytes("state.steps", state.steps.len(), MAX_STEPS)?;
                state.steps.iter().try_for_each(|verb| verbs("state.steps", verb))?;
                bytes("state.done", state.done, state.steps.len())?;
                optional_text("state.cookies", state.cookies.as_ref(), MAX_COOKIES_BYTES)?;
                json("state.last", &state.last, MAX_STEP_JSON_BYTES)
            }
        }
    }
}
