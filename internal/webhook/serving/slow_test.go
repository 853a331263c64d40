// SPDX-License-Identifier: Apache-2.0

package serving_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
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

// A client that sends slowly holds the length of its text until its time is over, and nothing that others wait for.
func TestASlowSenderKeepsNobodyWaiting(t *testing.T) {
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
		for length, body := range map[string]string{"small": review("CREATE", config, "null", ""), "large": text} {
			got, err := readOf(reader, body)
			if err != nil || got.Unread != nil {
				t.Fatalf("a %s review: %v %v", length, err, got.Unread)
			}
			got.Done()
		}
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

// A text of 60 KB may take 26 MB. While many such are judged, and others of them wait, small reviews don't.
func TestDenseReviewsKeepNoSmallReviewWaiting(t *testing.T) {
	reader := small()
	ctx, end := context.WithCancel(t.Context())
	dense := review("CREATE", `{"data":`+repeated("{}")(20_000)+`}`, "null", "")
	answered := make(chan *serving.Review)
	const together = 10
	for range together {
		go func() {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(dense))
			r.Header.Set("Content-Type", "application/json")
			got, err := reader.Read(ctx, httptest.NewRecorder(), r, time.Unix(1e9, 0))
			if err != nil {
				t.Error(err)
			}
			answered <- got
		}()
	}
	for !reader.Waiting() {
		runtime.Gosched()
	}
	got, err := readOf(reader, review("CREATE", config, "null", ""))
	if err != nil || got.Unread != nil {
		t.Fatal(err, got.Unread)
	}
	got.Done()
	end()
	for range together {
		(<-answered).Done()
	}
	if !reader.Idle() {
		t.Error("memory stays reserved")
	}
}

func TestLargeReviewsAreInWorkTogether(t *testing.T) {
	reader := small()
	body := review("CREATE", `{"data":`+repeated(`{"name":"v"}`)(25_000)+`}`, "null", "")
	for range 2 {
		got, err := readOf(reader, body)
		if err != nil || got.Unread != nil {
			t.Fatalf("of %d bytes: %v %v", len(body), err, got.Unread)
		}
		defer got.Done()
	}
}

func TestAPanicWhileDecodingReleasesTheMemory(t *testing.T) {
	for name, object := range map[string]string{"small": config, "large": repeated("{}")(50_000)} {
		t.Run(name, func(t *testing.T) {
			reader := small()
			reader.DecodeWith(func([]byte, *serving.Unread) (*serving.Review, error) {
				if reader.Idle() {
					t.Error("nothing is reserved: the test proves nothing")
				}
				panic("decoding")
			})
			defer func() {
				if recover() == nil || !reader.Idle() {
					t.Error("memory stays reserved")
				}
			}()
			_, _ = readOf(reader, review("CREATE", object, "null", ""))
		})
	}
}
