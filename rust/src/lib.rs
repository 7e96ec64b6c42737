//! Rust crates behind C interfaces: one archive, since a program can hold Rust's library once only.

mod allocation;
mod boundary;
mod script;
mod tokenizer;
