package counter

import (
	"context"
	"time"

	pb "counter/clients/go/counterpb"
)

// Like is one like of a user.
type Like struct {
	Item    Item
	LikedAt time.Time // To the second.
}

// LikesPage of ListLikes: newest first.
type LikesPage struct {
	Likes         []Like
	NextPageToken string // Gets the next page; "" if no more follow.
	RequestID     string
}

// Liker is one user who likes an item.
type Liker struct {
	UserID  int64
	LikedAt time.Time // To the second.
}

// LikersPage of ListLikers: newest like first.
type LikersPage struct {
	Likers        []Liker
	NextPageToken string // Gets the next page; "" if no more follow.
	RequestID     string
}

// Page says which part of a list to get. The zero value is the first page.
type Page struct {
	Size  int32    // 1 to 1000; 0: 100.
	Token string   // The NextPageToken of the page before.
	Types []string // Of ListLikes: only likes of these types; none: of all.
}

// ListLikes gives a page of what the user likes.
func (c *Client) ListLikes(ctx context.Context, userID int64, page Page, options ...CallOption) (*LikesPage, error) {
	request := &pb.ListLikesRequest{UserId: userID, ItemTypes: page.Types, PageSize: page.Size, PageToken: page.Token}
	reply, requestID, err := call(ctx, c, c.stub.ListLikes, request, options)
	if err != nil {
		return nil, err
	}
	likes := &LikesPage{NextPageToken: reply.NextPageToken, RequestID: requestID}
	for _, like := range reply.Likes {
		likes.Likes = append(likes.Likes,
			Like{Item{like.Item.GetItemType(), like.Item.GetItemId()}, like.LikedAt.AsTime()})
	}
	return likes, nil
}

// ListLikers gives a page of who likes the item. It is FailedPrecondition where the service has no index of them.
func (c *Client) ListLikers(ctx context.Context, item Item, page Page, options ...CallOption) (*LikersPage, error) {
	request := &pb.ListLikersRequest{Item: encode(item), PageSize: page.Size, PageToken: page.Token}
	reply, requestID, err := call(ctx, c, c.stub.ListLikers, request, options)
	if err != nil {
		return nil, err
	}
	likers := &LikersPage{NextPageToken: reply.NextPageToken, RequestID: requestID}
	for _, liker := range reply.Likers {
		likers.Likers = append(likers.Likers, Liker{liker.UserId, liker.LikedAt.AsTime()})
	}
	return likers, nil
}

// AllLikes iterates over what the user likes from the page on, newest first, and gets each page when it is needed:
//
//	all := likes.AllLikes(123, counter.Page{})
//	for all.Next(ctx) {
//		fmt.Println(all.Value().Item)
//	}
//	if err := all.Err(); err != nil { ...
func (c *Client) AllLikes(userID int64, page Page, options ...CallOption) *Iterator[Like] {
	return &Iterator[Like]{token: page.Token, get: func(ctx context.Context, token string) ([]Like, string, error) {
		page.Token = token
		likes, err := c.ListLikes(ctx, userID, page, options...)
		if err != nil {
			return nil, "", err
		}
		return likes.Likes, likes.NextPageToken, nil
	}}
}

// AllLikers iterates over who likes the item, as AllLikes does over what a user likes.
func (c *Client) AllLikers(item Item, page Page, options ...CallOption) *Iterator[Liker] {
	return &Iterator[Liker]{token: page.Token, get: func(ctx context.Context, token string) ([]Liker, string, error) {
		page.Token = token
		likers, err := c.ListLikers(ctx, item, page, options...)
		if err != nil {
			return nil, "", err
		}
		return likers.Likers, likers.NextPageToken, nil
	}}
}

// Iterator over all pages of a list; of one goroutine.
type Iterator[T any] struct {
	get    func(ctx context.Context, token string) ([]T, string, error)
	token  string
	asked  bool
	values []T // Of the page that is not used up; the first one is the value.
	err    error
}

// Next goes to the next value; false at the end, and after a failed call, which Err then tells.
func (i *Iterator[T]) Next(ctx context.Context) bool {
	if len(i.values) > 0 {
		i.values = i.values[1:]
	}
	for len(i.values) == 0 {
		if i.err != nil || i.asked && i.token == "" {
			return false
		}
		i.values, i.token, i.err = i.get(ctx, i.token)
		i.asked = true
	}
	return true
}

// Value of the last Next that was true.
func (i *Iterator[T]) Value() T { return i.values[0] }

// Err is the *Error that ended the iteration early, or nil.
func (i *Iterator[T]) Err() error { return i.err }
