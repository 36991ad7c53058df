//! The tests that need more than one module: one binary, a file a subject.

mod induce;
