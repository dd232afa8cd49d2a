//! Shows what discovery finds: `discover DIRECTORY TYPE`, with a directory of rustdoc's JSON.

use raddle_generate::discovery::discover;
use raddle_generate::library::Library;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(directory), Some(name)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: discover DIRECTORY TYPE");
        return;
    };
    match discover(&Library::open(directory.into()), &name) {
        Ok(found) => {
            println!("{}: {}", found.written, found.parts.join(", "));
            for constructor in &found.constructors {
                println!("  made by {}", constructor.label);
            }
            for operation in &found.operations {
                println!("  {} ({})", operation.signature, operation.class.word());
                println!("      {}", operation.body);
            }
            for refused in &found.refused {
                println!("  not called: {}: {}", refused.signature, refused.why);
            }
        }
        Err(error) => println!("{error}"),
    }
}
