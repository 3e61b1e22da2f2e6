use std::collections::VecDeque;

use crate::client::{encoded, time, Stub};
use crate::pb::counter::v1;
use crate::types::*;
use crate::{Client, Error};

impl Client {
    /// A page of what the user likes, newest first.
    pub async fn list_likes(&self, user_id: i64, page: &Page) -> Result<LikesPage, Error> {
        let request = v1::ListLikesRequest {
            user_id,
            item_types: page.item_types.clone(),
            page_size: page.size,
            page_token: page.token.clone(),
        };
        let call = |mut stub: Stub, r| async move { stub.list_likes(r).await };
        let (reply, request_id) = self.call(request, &page.call, call).await?;
        let decode = |like: v1::LikedItem| Like {
            item: like.item.map(|item| Item::new(item.item_type, item.item_id)).unwrap_or_else(|| Item::new("", 0)),
            liked_at: time(like.liked_at),
        };
        let likes = reply.likes.into_iter().map(decode).collect();
        Ok(LikesPage { likes, next_page_token: reply.next_page_token, request_id })
    }

    /// A page of who likes the item, newest like first; FailedPrecondition where the service has no index of them.
    pub async fn list_likers(&self, item: &Item, page: &Page) -> Result<LikersPage, Error> {
        let request =
            v1::ListLikersRequest { item: Some(encoded(item)), page_size: page.size, page_token: page.token.clone() };
        let call = |mut stub: Stub, r| async move { stub.list_likers(r).await };
        let (reply, request_id) = self.call(request, &page.call, call).await?;
        let decode = |liker: v1::Liker| Liker { user_id: liker.user_id, liked_at: time(liker.liked_at) };
        let likers = reply.likers.into_iter().map(decode).collect();
        Ok(LikersPage { likers, next_page_token: reply.next_page_token, request_id })
    }

    /// All that the user likes from the page on, newest first.
    pub fn all_likes(&self, user_id: i64, page: Page) -> AllLikes {
        AllLikes { client: self.clone(), user_id, page: Some(page), likes: VecDeque::new() }
    }

    /// All who like the item from the page on, newest like first.
    pub fn all_likers(&self, item: &Item, page: Page) -> AllLikers {
        AllLikers { client: self.clone(), item: item.clone(), page: Some(page), likers: VecDeque::new() }
    }
}

/// The likes of all pages; each page is got when it is needed.
pub struct AllLikes {
    client: Client,
    user_id: i64,
    page: Option<Page>, // The next one to get.
    likes: VecDeque<Like>,
}

impl AllLikes {
    /// The next like; none at the end.
    pub async fn next(&mut self) -> Result<Option<Like>, Error> {
        while self.likes.is_empty() {
            let page = match &self.page {
                Some(page) => page,
                None => return Ok(None),
            };
            let got = self.client.list_likes(self.user_id, page).await?;
            self.page = following(page, got.next_page_token);
            self.likes = got.likes.into();
        }
        Ok(self.likes.pop_front())
    }
}

/// The likers of all pages; each page is got when it is needed.
pub struct AllLikers {
    client: Client,
    item: Item,
    page: Option<Page>, // The next one to get.
    likers: VecDeque<Liker>,
}

impl AllLikers {
    /// The next liker; none at the end.
    pub async fn next(&mut self) -> Result<Option<Liker>, Error> {
        while self.likers.is_empty() {
            let page = match &self.page {
                Some(page) => page,
                None => return Ok(None),
            };
            let got = self.client.list_likers(&self.item, page).await?;
            self.page = following(page, got.next_page_token);
            self.likers = got.likers.into();
        }
        Ok(self.likers.pop_front())
    }
}

fn following(page: &Page, token: String) -> Option<Page> {
    if token.is_empty() {
        return None;
    }
    Some(Page { token, ..page.clone() })
}
