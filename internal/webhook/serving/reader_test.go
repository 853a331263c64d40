// SPDX-License-Identifier: Apache-2.0

package serving_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// small is the Reader of what policies judge, with the memory that it has by default.
func small() *serving.Reader {
	judged, _ := serving.NewReaders(256 << 20)
	return judged
}

const config = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop","labels":{"team":"x"},"finalizers":["b"]},"data":{"n":9007199254740993}}`

func TestAReviewIsReadWhole(t *testing.T) {
	got, err := readOf(small(), review("UPDATE", config, "null", ""))
	if err != nil || got.Unread != nil {
		t.Fatal(err, got.Unread)
	}
	defer got.Done()
	want := &policy.Request{
		UID: "705ab4f5", Operation: policy.Update, Kind: policy.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		RequestKind:     &policy.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		Resource:        "configmaps",
		RequestResource: &policy.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Options: map[string]any{"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1",
			"fieldManager": "kubectl"},
		Namespace: "shop", Name: "a", UserInfo: policy.UserInfo{Username: "ann", Groups: []string{"developers"}},
		Now: time.Unix(1e9, 0),
		Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"n": int64(9007199254740993)},
			"metadata": map[string]any{"name": "a", "namespace": "shop", "labels": map[string]any{"team": "x"},
				"finalizers": []any{"b"}},
		},
	}
	if diff := cmp.Diff(want, got.Request); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got.FieldManager() != "kubectl" {
		t.Errorf("the field manager is %q", got.FieldManager())
	}
}

// What the API server's decoder makes of values is what policies see.
func TestValuesAreTheAPIServers(t *testing.T) {
	for text, want := range map[string]any{
		`9223372036854775807`:  int64(9223372036854775807),
		`9223372036854775808`:  float64(9223372036854775808),
		`1.0`:                  float64(1),
		`1e2`:                  float64(100),
		`-0`:                   int64(0),
		"\"a\xffb\"":           "a\ufffdb",
		`"\ud800"`:             "\ufffd",
		`"\u003c"`:             "<",
		`{"a":1,"a":{"b":2}}`:  map[string]any{"a": map[string]any{"b": int64(2)}},
		`{"a":{"b":1},"a":{}}`: map[string]any{"a": map[string]any{}},
		`{"A":1,"a":2}`:        map[string]any{"A": int64(1), "a": int64(2)},
		`[]`:                   []any{},
		`null`:                 nil,
	} {
		got, err := readOf(small(), review("CREATE", `{"v":`+text+`}`, "null", `,"unknown":{"a":[1]},"Name":"z"`))
		if err != nil || got.Unread != nil || got.Name != "a" {
			t.Fatalf("%s: %v %+v", text, err, got)
		}
		if diff := cmp.Diff(map[string]any{"v": want}, got.Object); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
	got, err := readOf(small(), review("CREATE", config, `{"a":1}`, `,"object":{"b":2},"oldObject":null`))
	if err != nil || !cmp.Equal(got.Object, map[string]any{"b": int64(2)}) || got.OldObject != nil {
		t.Errorf("of two objects the last counts: %v %v", err, got)
	}
}

// What Gatekeeper shows its rules of a request is there for those that were written for it.
func TestWhatTheClientAskedForIsRead(t *testing.T) {
	asked := `,"requestKind":{"group":"apps","version":"v1beta1","kind":"Deployment"},"requestSubResource":"scale",` +
		`"requestResource":{"group":"apps","version":"v1beta1","resource":"deployments"},` +
		`"userInfo":{"username":"ann","uid":"7","extra":{"scopes":["view","edit"]}}`
	got, err := readOf(small(), review("UPDATE", config, "null", asked))
	if err != nil || got.Unread != nil {
		t.Fatal(err, got.Unread)
	}
	defer got.Done()
	want := &policy.Request{
		RequestKind:        &policy.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"},
		RequestResource:    &policy.GroupVersionResource{Group: "apps", Version: "v1beta1", Resource: "deployments"},
		RequestSubResource: "scale",
		UserInfo: policy.UserInfo{Username: "ann", UID: "7", Groups: []string{"developers"},
			Extra: map[string][]string{"scopes": {"view", "edit"}}}}
	if diff := cmp.Diff(want, &policy.Request{RequestKind: got.RequestKind, RequestResource: got.RequestResource,
		RequestSubResource: got.RequestSubResource, UserInfo: got.UserInfo}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The memory that one review arrived in is the next one's.
func TestAReviewHoldsNothingOfTheTextItArrivedIn(t *testing.T) {
	reader := small()
	named := func(name string) string {
		return review("UPDATE", fmt.Sprintf(`{"kind":"ConfigMap","metadata":{"name":%q,"managedFields":[{"manager":%q}]}}`,
			name, name), fmt.Sprintf(`{"kind":"ConfigMap","metadata":{"labels":{%q:%q}}}`, name, name), "")
	}
	read := func(name string) *serving.Review {
		t.Helper()
		got, err := readOf(reader, named(name))
		if err != nil || got.Unread != nil {
			t.Fatal(err, got.Unread)
		}
		return got
	}
	first := read("aaaa")
	for range 100 {
		read("bbbb").Done()
	}
	defer first.Done()
	want := map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "aaaa",
		"managedFields": []any{map[string]any{"manager": "aaaa"}}}}
	old := map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"labels": map[string]any{"aaaa": "aaaa"}}}
	if diff := cmp.Diff([]any{want, old}, []any{first.Object, first.OldObject}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if first.Name != "a" || first.UserInfo.Username != "ann" || first.FieldManager() != "kubectl" {
		t.Errorf("the request is another's: %+v, %v", first.Request, first.Options)
	}
}

func TestWhatCannotBeReadSaysWhoAsksAboutWhat(t *testing.T) {
	withData := func(data string) string { return strings.Replace(config, `{"n":9007199254740993}`, data, 1) }
	cases := map[string]struct {
		reason string
		body   string
		want   serving.Reason
	}{
		"more bytes than are read": {
			body: review("CREATE", withData(`{"n":"`+strings.Repeat("x", 41<<20)+`"}`), "null", ""),
			want: serving.TooLarge,
		},
		"more values than there is memory for": {
			body: review("CREATE", withData("["+strings.Repeat("{},", 400000)+"0]"), "null", ""),
			want: serving.TooMany,
		},
		"deeper than is decoded": {
			body: review("CREATE", withData(strings.Repeat("[", 10001)+strings.Repeat("]", 10001)), "null", ""),
			want: serving.Undecodable,
		},
		"a hundred thousand deep": {
			reason: "the depth costs no stack",
			body:   review("CREATE", withData(strings.Repeat("[", 1e5)+strings.Repeat("]", 1e5)), "null", ""),
			want:   serving.Undecodable,
		},
		"an object that isn't one": {
			body: review("CREATE", "[1]", "null", ""), want: serving.Undecodable,
		},
		"what follows the review": {
			body: review("CREATE", config, "null", "") + "{}", want: serving.Undecodable,
		},
		"objects of which the first is cut off": {
			body: review("CREATE", config, "null", "")[:500], want: serving.Undecodable,
		},
		"a number that nothing can hold": {
			body: review("CREATE", withData("1e999"), "null", ""), want: serving.Undecodable,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reader := small()
			got, err := readOf(reader, tc.body)
			if err != nil {
				t.Fatal(err)
			}
			if got.Unread == nil || got.Unread.Reason != tc.want || !got.Partial {
				t.Fatalf("%s: want %s, got %v (partial %t)", tc.reason, tc.want, got.Unread, got.Partial)
			}
			if got.UID != "705ab4f5" || got.Kind.Kind != "ConfigMap" || got.Namespace != "shop" ||
				got.UserInfo.Username != "ann" || got.Operation != policy.Create {
				t.Errorf("the envelope is %+v", got.Request)
			}
			if got.Object != nil || got.OldObject != nil {
				t.Errorf("of the objects %v and %v are left", got.Object, got.OldObject)
			}
			got.Done()
			if !reader.Idle() {
				t.Error("memory stays reserved")
			}
		})
	}
}

func TestTheDeepestObjectOfTheAPIServerIsRead(t *testing.T) {
	object := strings.Replace(config, `{"n":9007199254740993}`, strings.Repeat("[", 9998)+strings.Repeat("]", 9998), 1)
	got, err := readOf(small(), review("CREATE", object, "null", ""))
	if err != nil || got.Unread != nil {
		t.Fatal(err, got.Unread)
	}
}

// An escaped object is six times as long as it was when it was sent; an update has
// two of them.
func TestTheLargestStringsOfTheAPIServerAreRead(t *testing.T) {
	object := strings.Replace(config, `{"n":9007199254740993}`, `{"n":"`+strings.Repeat(`\u003c`, 3<<20)+`"}`, 1)
	got, err := readOf(small(), review("UPDATE", object, object, ""))
	if err != nil || got.Unread != nil {
		t.Fatal(err, got.Unread)
	}
	if n := len(got.Object["data"].(map[string]any)["n"].(string)); n != 3<<20 {
		t.Errorf("%d characters were read", n)
	}
}

func TestWhatIsNoReviewIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		want int
	}{
		"nothing":       {body: "", want: http.StatusBadRequest},
		"half a review": {body: review("CREATE", config, "null", "")[:300], want: http.StatusBadRequest},
		"a review without a request": {body: `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`,
			want: http.StatusBadRequest},
		"another kind":     {body: `{"kind":"Pod","apiVersion":"v1"}`, want: http.StatusBadRequest},
		"much white space": {body: strings.Repeat(" ", 41<<20), want: http.StatusRequestEntityTooLarge},
		"a request of a strange form": {
			body: strings.Replace(review("CREATE", config, "null", ""), `"userInfo":{`, `"userInfo":7,"user":{`, 1),
			want: http.StatusBadRequest},
		"a request that isn't one": {
			body: `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":[{"uid":"705ab4f5"}]}`,
			want: http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			reader := small()
			_, err := readOf(reader, tc.body)
			var refused *serving.Refused
			if !errors.As(err, &refused) || refused.Status != tc.want {
				t.Errorf("want %d, got %v", tc.want, err)
			}
			if !reader.Idle() {
				t.Error("memory stays reserved")
			}
		})
	}
}

func TestAReviewOfUnknownLengthIsReadLikeAnyOther(t *testing.T) {
	for name, padding := range map[string]int{"short": 0, "longer than a prefix": 100 << 10} {
		t.Run(name, func(t *testing.T) {
			body := review("CREATE", strings.Replace(config, `"team"`, `"`+strings.Repeat("x", padding)+`"`, 1), "null",
				"")
			r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(strings.NewReader(body)))
			r.Header.Set("Content-Type", "application/json")
			r.ContentLength = -1
			got, err := small().Read(t.Context(), httptest.NewRecorder(), r, time.Unix(1e9, 0))
			if err != nil || got.Unread != nil || got.Object["kind"] != "ConfigMap" {
				t.Fatalf("%v %v", err, got)
			}
		})
	}
}

// FuzzRead: whatever comes, what is read as a review is what the API server's decoder
// reads, to which "Object" isn't "object".
func FuzzRead(f *testing.F) {
	f.Add(review("CREATE", config, "null", ""))
	f.Add(review("UPDATE", `{"a":"\"\\","b":[1,{"c":"}"}]}`, config, ""))
	f.Add(`{"request":{"object":{"x":[]]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		reader := small()
		got, err := readOf(reader, body)
		if err != nil {
			return
		}
		if got.Unread == nil && got.Object != nil && json.Valid([]byte(body)) {
			var review struct {
				Request struct {
					Object json.RawMessage `json:"object"`
				} `json:"request"`
			}
			var want map[string]any
			if utiljson.Unmarshal([]byte(body), &review) == nil &&
				utiljson.Unmarshal(review.Request.Object, &want) == nil && len(want) != len(got.Object) {
				t.Errorf("%q: want %v, got %v", body, want, got.Object)
			}
		}
		got.Done()
		if !reader.Idle() {
			t.Error("memory stays reserved")
		}
	})
}
