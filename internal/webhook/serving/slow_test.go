// SPDX-License-Identifier: Apache-2.0

package serving_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// stalling is a body that brings some text, and then nothing until ctx ends.
type stalling struct {
	io.Reader
	ctx     context.Context
	stalled chan struct{}
}

func (s *stalling) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); !errors.Is(err, io.EOF) {
		return n, err
	}
	s.stalled <- struct{}{}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// A client that sends slowly holds memory for large reviews until its time is over, and none that small ones wait for.
func TestASlowSenderKeepsNoSmallReviewWaiting(t *testing.T) {
	reader := small()
	ctx, end := context.WithCancel(t.Context())
	text := review("CREATE", strings.Replace(config, `"team"`, `"`+strings.Repeat("x", 100<<10)+`"`, 1), "null", "")
	body := &stalling{Reader: strings.NewReader(text[:80<<10]), ctx: ctx, stalled: make(chan struct{}, 1)}
	slow := httptest.NewRequest(http.MethodPost, "/", body)
	slow.Header.Set("Content-Type", "application/json")
	slow.ContentLength = 30 << 20
	answered := make(chan *serving.Review, 1)
	go func() {
		got, err := reader.Read(ctx, httptest.NewRecorder(), slow, time.Unix(1e9, 0))
		if err != nil {
			t.Error(err)
		}
		answered <- got
	}()
	<-body.stalled
	if reader.Idle() {
		t.Error("it holds no memory: the test proves nothing")
	}
	for range 100 {
		got, err := readOf(reader, review("CREATE", config, "null", ""))
		if err != nil || got.Unread != nil {
			t.Fatalf("a small review: %v %v", err, got.Unread)
		}
		got.Done()
	}
	end()
	got := <-answered
	if got.Unread == nil || got.Unread.Reason != serving.Incomplete || got.UserInfo.Username != "ann" {
		t.Errorf("got %+v, unread %v", got.Request, got.Unread)
	}
	if got.Done(); !reader.Idle() {
		t.Error("memory stays reserved")
	}
}

// A review that finds no memory in time says who requests what, without its objects.
func TestALargeReviewWaitsForAnotherUntilItsTimeIsOver(t *testing.T) {
	reader := small()
	large := review("CREATE", `{"data":"`+strings.Repeat("x", 30<<20)+`"}`, "null", "")
	first, err := readOf(reader, large)
	if err != nil || first.Unread != nil {
		t.Fatal(err, first.Unread)
	}
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(large))
	r.Header.Set("Content-Type", "application/json")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	got, err := reader.Read(ctx, httptest.NewRecorder(), r, time.Unix(1e9, 0))
	if err != nil || got.Unread == nil || got.Unread.Reason != serving.Busy || got.Name != "a" || got.Object != nil {
		t.Fatalf("%v %+v", err, got)
	}
	got.Done()
	first.Done()
	again, err := readOf(reader, large)
	if err != nil || again.Unread != nil {
		t.Errorf("when there is room: %v %v", err, again.Unread)
	}
}
