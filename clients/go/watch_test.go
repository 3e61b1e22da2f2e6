package counter

import (
	"context"
	"errors"
	"net"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "counter/clients/go/counterpb"
)

type watched struct {
	pb.UnimplementedCounterServiceServer
	requests chan *pb.WatchCountsRequest
	watch    func(pb.CounterService_WatchCountsServer) error
}

func (w *watched) WatchCounts(request *pb.WatchCountsRequest, stream pb.CounterService_WatchCountsServer) error {
	w.requests <- request
	return w.watch(stream)
}

func watching(t *testing.T, watch func(pb.CounterService_WatchCountsServer) error) (*Client, *watched) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	service := &watched{requests: make(chan *pb.WatchCountsRequest, 10), watch: watch}
	server := grpc.NewServer()
	pb.RegisterCounterServiceServer(server, service)
	go func() { _ = server.Serve(listener) }()
	client, err := Connect(listener.Addr().String(), Options{NoRetries: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		server.Stop()
	})
	return client, service
}

func message(snapshot bool, id, count int64, token string) *pb.WatchCountsResponse {
	return &pb.WatchCountsResponse{Snapshot: snapshot, Counts: []*pb.ItemCount{
		{Item: &pb.Item{ItemType: "post", ItemId: id}, Count: count, ConsistencyToken: token}}}
}

func TestAWatchTellsWhatComesAndWhyItEnded(t *testing.T) {
	client, service := watching(t, func(stream pb.CounterService_WatchCountsServer) error {
		_ = stream.Send(message(true, 1, 5, "a"))
		_ = stream.Send(message(false, 1, 6, "b"))
		return status.Error(codes.Unavailable, "going")
	})
	watch, err := client.WatchCounts(context.Background(), []Item{{"post", 1}}, WithTokens("known"))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for i, wanted := range []struct {
		count    int64
		token    string
		snapshot bool
	}{{5, "a", true}, {6, "b", false}} {
		update, err := watch.Next()
		if err != nil {
			t.Fatal(err)
		}
		got := update.Counts[0]
		if got.Item != (Item{"post", 1}) || got.Count != wanted.count || got.ConsistencyToken != wanted.token ||
			update.Snapshot != wanted.snapshot {
			t.Errorf("message %d: got %+v", i, update)
		}
	}
	_, err = watch.Next()
	var failed *Error
	if !errors.As(err, &failed) || failed.Kind != Unavailable {
		t.Errorf("got %v", err)
	}
	if request := <-service.requests; !reflect.DeepEqual(request.ConsistencyTokens, []string{"known"}) {
		t.Errorf("got %v", request)
	}
}

func TestAWatchOutlivesTheClientsDeadlineAndEndsWhenItIsStopped(t *testing.T) {
	client, _ := watching(t, func(stream pb.CounterService_WatchCountsServer) error {
		_ = stream.Send(message(true, 1, 5, "a"))
		<-stream.Context().Done()
		return stream.Context().Err()
	})
	client.deadline = time.Millisecond
	watch, err := client.WatchCounts(context.Background(), []Item{{"post", 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Next(); err != nil {
		t.Fatal(err)
	}
	go watch.Stop()
	_, err = watch.Next()
	var failed *Error
	if !errors.As(err, &failed) || failed.Kind != Cancelled {
		t.Errorf("got %v", err)
	}
}
