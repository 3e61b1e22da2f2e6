//! Everything that README.md shows, as one program; clients/rust/run_tests runs it.

// snippet: first
use counter_client::{Client, Item, Options};

// snippet end
use counter_client::{Action, CallOptions, Consistency, ErrorKind, Mutation, Page, ReadOptions, Tls, WatchOptions};
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // snippet: first
    let likes = Client::connect(&std::env::var("COUNTER_SERVER")?, Options::default())?;

    let post = Item::new("post", 456);
    let liked = likes.like(123, &post).await?;
    println!("likes: {}", liked.count);
    // snippet end

    // snippet: batch
    let mutation = |user_id, action| Mutation { user_id, item: post.clone(), action };
    let mutations = [
        mutation(1, Action::Like),
        mutation(123, Action::Unlike),
        mutation(0, Action::Like), // There is no user 0.
    ];
    let written = likes.write_likes(&mutations, &CallOptions::default()).await?;
    for result in &written.results {
        match result {
            Ok(written) => println!("now {}", written.count),
            Err(error) => println!("refused: {}", error.kind),
        }
    }
    // snippet end

    // snippet: reads
    let strong = ReadOptions { consistency: Consistency::Strong, ..Default::default() };
    println!("post 456: {}", likes.count(&post, &strong).await?.count);

    let items = [post.clone(), Item::new("reel", 7)];
    let counts = likes.counts(&items, &ReadOptions::default()).await?;
    println!("reel 7: {}", counts.counts[1].count);

    let has = likes.has_liked(1, &items, &ReadOptions::default()).await?;
    for (item, _) in items.iter().zip(has.liked).filter(|(_, yes)| *yes) {
        println!("user 1 likes {} {}", item.kind, item.id);
    }
    // snippet end

    // snippet: lists
    let page = likes.list_likes(1, &Page { size: 10, ..Default::default() }).await?;
    for like in &page.likes {
        println!("liked: {} {}", like.item.kind, like.item.id);
    }

    // page.next_page_token gets the next page; all_likes gets all of them, each when it is needed:
    let mut all = likes.all_likes(1, Page { item_types: vec!["post".into()], ..Default::default() });
    let mut number = 0;
    while let Some(_like) = all.next().await? {
        number += 1;
    }
    println!("in all: {}", number);
    // snippet end

    // snippet: errors
    if let Err(error) = likes.like(0, &Item::new("nothing", 7)).await {
        match error.kind {
            ErrorKind::InvalidArgument => {
                for violation in &error.violations {
                    println!("wrong: {}", violation.field);
                }
            }
            ErrorKind::RateLimited | ErrorKind::Overloaded => {
                // Then once more.
                tokio::time::sleep(error.retry_after.unwrap_or(Duration::from_secs(1))).await;
            }
            _ => println!("{}", error), // What happened, and the request id to report it by.
        }
    }
    // snippet end

    // snippet: options
    let call = CallOptions {
        deadline: Some(Duration::from_millis(500)),
        request_id: "feed-42".into(),
        traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into(),
    };
    let soon = likes.count(&post, &ReadOptions { call, ..Default::default() }).await?;
    println!("request: {}", soon.request_id);
    // snippet end

    // snippet: mine
    let options = Options { read_your_writes: true, ..Default::default() };
    let mine = Client::connect(&std::env::var("COUNTER_SERVER")?, options)?;
    mine.like(7, &Item::new("reel", 7)).await?;
    println!("reel 7: {}", mine.count(&Item::new("reel", 7), &ReadOptions::default()).await?.count);
    // snippet end

    // snippet: secure
    let tls = Tls {
        ca: Some(std::fs::read("ca.pem")?),
        certificate: Some(std::fs::read("client.pem")?),
        key: Some(std::fs::read("client.key")?),
    };
    let options = Options { tls: Some(tls), bearer_token: Some("secret".into()), ..Default::default() };
    let secure = Client::connect("dns:///counter.example:443", options)?;
    // snippet end
    drop(secure);

    // snippet: watch
    let mut watch = likes.watch_counts(&[post], &WatchOptions::default())?;
    let update = watch.next().await?; // The counts of now; then, each time, those that have changed.
    for count in &update.counts {
        println!("watched: {} {} {}", count.item.kind, count.item.id, count.count);
    }
    drop(watch);
    // snippet end
    Ok(())
}
