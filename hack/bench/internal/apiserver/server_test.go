// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// few are generated objects.
type few int

func (f few) Len() int { return int(f) }

func (few) Append(to []byte, n int) []byte {
	return fmt.Appendf(to, `{"metadata":{"name":"pod-%d"}}`, n)
}

func served(t *testing.T) string {
	s := httptest.NewServer(New(Kind{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true, Objects: few(5)},
		Kind{Group: "example.com", Version: "v1", Kind: "Rule", Resource: "rules"},
		Kind{Group: "events.k8s.io", Version: "v1", Kind: "Event", Resource: "events", Namespaced: true}))
	t.Cleanup(s.Close)
	return s.URL
}

func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestGeneratedObjectsAreListedInPages(t *testing.T) {
	url := served(t)
	for query, want := range map[string]string{
		"": "pod-0 pod-1 pod-2 pod-3 pod-4 ", "?limit=2": "pod-0 pod-1 2",
		"?limit=2&continue=2": "pod-2 pod-3 4", "?limit=2&continue=4": "pod-4 ",
	} {
		_, text := ask(t, "GET", url+"/api/v1/pods"+query, "")
		var list struct {
			Metadata struct{ Continue string }
			Items    []struct{ Metadata struct{ Name string } }
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := ""
		for _, item := range list.Items {
			got += item.Metadata.Name + " "
		}
		if got+list.Metadata.Continue != want {
			t.Errorf("%s: %q, want %q", query, got+list.Metadata.Continue, want)
		}
	}
}

// watch gives the lines of a watch, one after the other.
func watch(t *testing.T, url string) func() string {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	lines := bufio.NewReader(response.Body)
	return func() string {
		t.Helper()
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
}

func TestAWatchBeginsWithAListAndSaysWhereItEnds(t *testing.T) {
	next := watch(t, served(t)+"/api/v1/pods?watch=true&sendInitialEvents=true")
	for n := range 5 {
		if line := next(); !strings.Contains(line, "ADDED") || !strings.Contains(line, fmt.Sprintf("pod-%d", n)) {
			t.Errorf("event %d is %s", n, line)
		}
	}
	if line := next(); !strings.Contains(line, "BOOKMARK") || !strings.Contains(line, "initial-events-end") {
		t.Errorf("it ends with %s", line)
	}
}

func TestWhatIsServedIsDiscovered(t *testing.T) {
	url := served(t)
	for path, want := range map[string]string{"/api": `"v1"`, "/apis": `"groupVersion":"example.com/v1"`,
		"/api/v1": `"name":"pods"`, "/apis/example.com/v1": `"name":"rules"`} {
		if code, text := ask(t, "GET", url+path, ""); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, _ := ask(t, "GET", url+"/apis/none/v1", ""); code != http.StatusNotFound {
		t.Errorf("a group that isn't served is answered with %d", code)
	}
	event := `{"note":"x"}`
	if code, text := ask(t, "POST", url+"/apis/events.k8s.io/v1/namespaces/ns/events", event); code != 201 ||
		text != event {
		t.Errorf("an event: %d %s", code, text)
	}
	if code, _ := ask(t, "PATCH", url+"/apis/example.com/v1/rules", ""); code != http.StatusMethodNotAllowed {
		t.Errorf("a patch is answered with %d", code)
	}
}

func TestAKindWithoutObjectsIsAnEmptyList(t *testing.T) {
	next := watch(t, served(t)+"/apis/example.com/v1/rules?watch=true&sendInitialEvents=true")
	if line := next(); !strings.Contains(line, "BOOKMARK") || !strings.Contains(line, `"kind":"Rule"`) {
		t.Errorf("it begins with %s", line)
	}
}
