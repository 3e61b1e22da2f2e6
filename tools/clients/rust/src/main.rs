//! generate OUT INCLUDE... -- PROTO...: the client's code of the protocol, and of the errors of google.rpc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let split = arguments.iter().position(|a| a == "--").ok_or("expected --")?;
    let mut config = prost_build::Config::new();
    // The comments of well-known protos are no doc tests.
    config.disable_comments(["."]);
    tonic_build::configure()
        .build_server(false)
        .build_client(true)
        .build_transport(false)
        .out_dir(&arguments[0])
        .compile_with_config(config, &arguments[split + 1..], &arguments[1..split])?;
    Ok(())
}
