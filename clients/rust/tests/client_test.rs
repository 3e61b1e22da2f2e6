use counter_client::{Client, ErrorKind, Item, Options};

#[tokio::test]
async fn a_token_without_tls_is_refused() {
    let options = Options { bearer_token: Some("secret".into()), ..Default::default() };
    let error = Client::connect("127.0.0.1:1", options).err().expect("an error");
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
    assert_eq!(error.violations[0].field, "bearer_token");
}

#[tokio::test]
async fn where_nobody_listens_a_call_without_retries_is_unavailable() {
    let client = Client::connect("127.0.0.1:1", Options { retries: false, ..Default::default() }).expect("a client");
    let error = client.like(1, &Item::new("post", 1)).await.expect_err("nobody listens");
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(error.to_string().starts_with("Unavailable: "), "{}", error);
}

#[tokio::test]
async fn clones_share_a_channel_and_serve_many_tasks() {
    let client = Client::connect("127.0.0.1:1", Options { retries: false, ..Default::default() }).expect("a client");
    let calls = (0..20).map(|user| {
        let client = client.clone();
        tokio::spawn(async move { client.like(user, &Item::new("post", 1)).await })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.expect("no panic").expect_err("nobody listens").kind, ErrorKind::Unavailable);
    }
}
