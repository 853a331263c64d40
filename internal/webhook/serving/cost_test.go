// SPDX-License-Identifier: Apache-2.0

package serving_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// shapes are specs that cost much memory for their length.
var shapes = map[string]func(n int) string{
	"empty objects":             repeated(`{}`),
	"empty lists":               repeated(`[]`),
	"objects of one field":      repeated(`{"":0}`),
	"objects of a longer field": repeated(`{"name":"v"}`),
	"objects of nine fields":    repeated(`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0}`),
	"lists of one":              repeated(`[0]`),
	"numbers":                   repeated(`7`),
	"numbers with a fraction":   repeated(`1.5`),
	"short strings":             repeated(`"a"`),
	"escaped strings": repeated(
		`"\u003c\u003c\u003c\u003c\u003c\u003c\u003c\u003c\u003c\u003c\u003c\u003c\u003c\u003c\u003c\u003c\u003c\u003c"`),
	"literals":                    repeated(`null`),
	"one object with many fields": func(n int) string { return fields(n) },
	"nested objects": func(n int) string {
		n = min(n, 2000)
		return strings.Repeat(`{"":`, n) + "0" + strings.Repeat("}", n)
	},
	"one long string": func(n int) string { return `"` + strings.Repeat("a", 20*n) + `"` },
}

func repeated(value string) func(int) string {
	return func(n int) string { return "[" + strings.Repeat(value+",", n-1) + value + "]" }
}

func fields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%d":0`, i)
	}
	return "{" + b.String()[1:] + "}"
}

// heap is the live memory.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestTheReservedMemoryIsEnough(t *testing.T) {
	for name, shape := range shapes {
		for operation, old := range map[string]bool{"CREATE": false, "UPDATE": true} {
			t.Run(name+" in an "+operation, func(t *testing.T) {
				object := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"spec":` + shape(20000) + `}`
				oldObject := "null"
				if old {
					oldObject = object
				}
				body := review(operation, object, oldObject, "")
				reader := serving.NewReader(1 << 30)
				before := heap()
				read, err := readOf(reader, body)
				if err != nil || read.Unread != nil {
					t.Fatalf("%v %v", err, read.Unread)
				}
				reserved := serving.Cost([]byte(body))
				kept := []any{read, inputs(t, read.Request)}
				used := heap() - before
				runtime.KeepAlive(kept)
				t.Logf("reserved %d, used %d: %.2f", reserved, used, float64(used)/float64(reserved))
				if used > reserved {
					t.Errorf("%d bytes were reserved for %d bytes of text, but it took %d", reserved, len(body), used)
				}
			})
		}
	}
}

// What is kept of a review that can't be read, and what is read of the rest of one
// that can, costs no more than was reserved either.
func TestWhatIsKeptOfAnUnreadReviewFitsWhatIsReserved(t *testing.T) {
	const n = 500_000
	many := fields(n)
	tooMany := "[" + strings.Repeat("{},", 400000) + "0]"
	metadata := `{"metadata":{"name":"a"},"spec":` + tooMany + `,` + many[1:]
	for name, body := range map[string]string{
		"many fields":                 review("CREATE", many, "null", ""),
		"many fields beside metadata": review("CREATE", metadata, "null", ""),
		"many fields of the metadata": review("CREATE", `{"spec":`+tooMany+`,"metadata":`+many+`}`, "null", ""),
		"large options":               review("CREATE", `{"kind":"ConfigMap"}`, "null", `,"options":{"a":`+tooMany+`}`),
		"a user of many groups": review("CREATE", `{"kind":"ConfigMap"}`, "null",
			`,"userInfo":{"groups":[`+strings.Repeat(`"ab",`, n)+`"a"]}`),
		"many parts": review("CREATE", `{"kind":"ConfigMap"}`, "null",
			","+strings.TrimSuffix(many[1:], "}")),
	} {
		t.Run(name, func(t *testing.T) {
			reader := serving.NewReader(256 << 20)
			before := heap()
			read, err := readOf(reader, body)
			if err != nil {
				t.Fatal(err)
			}
			reserved := serving.Cost([]byte(body))
			used := heap() - before
			runtime.KeepAlive(read)
			runtime.KeepAlive(body)
			t.Logf("%d bytes: reserved %d, used %d: %.2f: %v", len(body), reserved, used,
				float64(used)/float64(reserved), read.Unread)
			if used > reserved {
				t.Errorf("%d bytes were reserved for %d bytes of text, but it took %d", reserved, len(body), used)
			}
		})
	}
}

// inputs is what rules see of a request: the objects, and for an update once more
// the object as it was before.
func inputs(t *testing.T, r *policy.Request) []*rego.Input {
	t.Helper()
	var out []*rego.Input
	before := *r
	before.Object = r.OldObject
	for _, request := range []*policy.Request{r, &before} {
		if request.Object == nil {
			continue
		}
		in, err := rego.NewInput(request)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, in)
	}
	return out
}

// review is an AdmissionReview with its fields in the API server's order.
func review(operation, object, oldObject, more string) string {
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5",` +
		`"kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},` +
		`"requestKind":{"group":"","version":"v1","kind":"ConfigMap"},"requestResource":{"group":"","version":"v1","resource":"configmaps"},` +
		`"name":"a","namespace":"shop","operation":"` + operation +
		`","userInfo":{"username":"ann","groups":["developers"]},` +
		`"object":` + object + `,"oldObject":` + oldObject +
		`,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"kubectl"}` +
		more + `}}`
}

func readOf(reader *serving.Reader, body string) (*serving.Review, error) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return reader.Read(ctx, httptest.NewRecorder(), r, time.Unix(1e9, 0))
}
