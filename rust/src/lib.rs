//! Rust crates behind C interfaces, in one archive, because a program can link Rust's library only
//! once.

mod allocation;
mod boundary;
mod chat;
mod picture;
mod script;
mod tokenizer;
