// SPDX-License-Identifier: Apache-2.0

package faultproxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"evenkeel.dev/evenkeel/test/faultproxy"
)

// upstream is an API server that answers every request with one object.
type upstream struct {
	mu   sync.Mutex
	seen []string
	user string
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // an empty body is as good
	u.mu.Lock()
	u.seen = append(u.seen, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
	u.user = r.Header.Get("Impersonate-User") + "/" + strings.Join(r.Header.Values("Impersonate-Group"), ",")
	u.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"metadata":{"uid":"u1","resourceVersion":"7"}}`)
}

func (u *upstream) requests() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]string{}, u.seen...)
}

func start(t *testing.T, handler http.Handler) *faultproxy.Proxy {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	proxy, err := faultproxy.Start(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return proxy
}

// send returns the status and body of the answer, or 0 when the connection was cut.
func send(t *testing.T, proxy *faultproxy.Proxy, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, proxy.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

const configMap = "/api/v1/namespaces/shop/configmaps/web"

func TestFaultsDoWhatTheySay(t *testing.T) {
	object := `{"metadata":{"uid":"u1","resourceVersion":"7"}}`
	isPatch := func(r faultproxy.Request) bool { return r.Method == http.MethodPatch && r.Resource == "configmaps" }
	for name, tc := range map[string]struct {
		reason     string
		fault      faultproxy.Fault
		status     int
		body       string
		forwarded  bool
		wasWritten bool
	}{
		"no fault passes the request and its answer": {status: 200, body: object, forwarded: true, wasWritten: true},
		"a lost request never reaches the server": {
			reason: "the write didn't happen, and the manager sees a cut connection",
			fault:  faultproxy.Fault{LoseRequest: true},
		},
		"a lost answer follows a write that happened": {fault: faultproxy.Fault{LoseAnswer: true}, forwarded: true,
			wasWritten: true},
		"an answer of its own isn't forwarded": {
			fault: faultproxy.Fault{Answer: &faultproxy.Answer{Status: 429, Body: []byte("busy")}}, status: 429,
			body: "busy",
		},
		"a delayed request still passes": {
			fault: faultproxy.Fault{Delay: time.Millisecond}, status: 200, body: object, forwarded: true,
			wasWritten: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := &upstream{}
			proxy := start(t, server)
			proxy.Nth(2, isPatch, tc.fault)
			if status, _ := send(t, proxy, http.MethodPatch, configMap, "one"); status != 200 {
				t.Fatalf("the first request got %d, want 200: the fault is for the second", status)
			}
			status, body := send(t, proxy, http.MethodPatch, configMap, "two")
			if status != tc.status || body != tc.body {
				t.Errorf("got %d %q, want %d %q %s", status, body, tc.status, tc.body, tc.reason)
			}
			want := []string{"PATCH " + configMap + " one"}
			if tc.forwarded {
				want = append(want, "PATCH "+configMap+" two")
			}
			if diff := cmp.Diff(want, server.requests()); diff != "" {
				t.Errorf("forwarded requests (-want +got):\n%s", diff)
			}
			if got := len(proxy.Writes()) == 2; got != tc.wasWritten {
				t.Errorf("recorded as written: %v, want %v", got, tc.wasWritten)
			}
		})
	}
}

func TestWritesAreRecordedWithTheirObject(t *testing.T) {
	proxy := start(t, &upstream{})
	send(t, proxy, http.MethodGet, configMap, "")
	send(t, proxy, http.MethodPatch, configMap+"?dryRun=All", "tried")
	send(t, proxy, http.MethodDelete, configMap, `{"kind":"DeleteOptions","dryRun":["All"]}`)
	send(t, proxy, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "asked")
	send(t, proxy, http.MethodPut, "/apis/evenkeel.dev/v1alpha1/remediations/r1/status", "written")
	type key struct{ Group, Resource, Subresource, Namespace, Name, UID, Version, Body string }
	var got []key
	for _, w := range proxy.Writes() {
		got = append(got, key{w.Group, w.Resource, w.Subresource, w.Namespace, w.Name, w.UID, w.ResourceVersion,
			string(w.Body)})
	}
	want := []key{{Group: "evenkeel.dev", Resource: "remediations", Subresource: "status", Name: "r1", UID: "u1",
		Version: "7", Body: "written"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes: reads, dry runs and access reviews are none (-want +got):\n%s", diff)
	}
}

func TestHooksRunAroundTheRequest(t *testing.T) {
	server := &upstream{}
	proxy := start(t, server)
	var before, after int
	injection := proxy.Every(faultproxy.Request.IsWrite, faultproxy.Fault{
		Before: func(faultproxy.Request) { before = len(server.requests()) },
		After:  func(_ faultproxy.Request, a faultproxy.Answer) { after = len(server.requests()) * a.Status },
	})
	send(t, proxy, http.MethodPatch, configMap, "x")
	if before != 0 || after != 200 {
		t.Errorf("before the hook %d requests, after it requests*status %d; want 0 and 200", before, after)
	}
	injection.Remove()
	send(t, proxy, http.MethodPatch, configMap, "x")
	if injection.Seen() != 1 || injection.Hits() != 1 {
		t.Errorf("a removed injection goes on: seen %d, hits %d", injection.Seen(), injection.Hits())
	}
}

func TestRequestsAreMadeAsAnotherUser(t *testing.T) {
	server := &upstream{}
	proxy := start(t, server)
	proxy.Impersonate("robot", "robots", "all")
	for _, method := range []string{http.MethodGet, http.MethodPatch} {
		send(t, proxy, method, configMap, "")
		if want := "robot/robots,all"; server.user != want {
			t.Errorf("%s was made as %q, want %q", method, server.user, want)
		}
	}
}

func TestWatchEventsPassAtOnce(t *testing.T) {
	second := make(chan struct{})
	proxy := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		select {
		case <-second:
		case <-r.Context().Done():
		}
	}))
	resp, err := http.Get(proxy.URL + "/api/v1/configmaps?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	buffer := make([]byte, 6)
	// It blocks until the test's time limit if the event waits for the next.
	if _, err := io.ReadFull(resp.Body, buffer); err != nil || string(buffer) != "first\n" {
		t.Errorf("got %q, %v", buffer, err)
	}
	close(second)
}
