// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// answers is a transport that gives one answer.
type answers struct{ contentType, body string }

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {a.contentType}},
		Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

const ownPath = "https://cluster/apis/evenkeel.dev/v1alpha1/"

// told is a Lists with what it logs.
func told(t *testing.T, registerer prometheus.Registerer) (*kube.Lists, *bytes.Buffer) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	lists, err := kube.NewLists(scheme, registerer, funcr.New(func(_, args string) {
		log.WriteString(args + "\n")
	}, funcr.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return lists, &log
}

func read(t *testing.T, lists *kube.Lists, url, body string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := lists.Wrap(answers{"application/json", body}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // nothing to lose
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// bad and good are objects of each kind: one whose spec or status no type takes, and one
// that it does.
func bad(kind string) string {
	return fmt.Sprintf(
		`{"apiVersion":"evenkeel.dev/v1alpha1","kind":%q,"metadata":{"name":"bad","uid":"u","resourceVersion":"7"},"spec":"none","targets":"none"}`, kind)
}

func good(kind, annotations string) string {
	return fmt.Sprintf(
		`{"apiVersion":"evenkeel.dev/v1alpha1","kind":%q,"metadata":{"name":"good","annotations":{%s}},"spec":{"extra":1}}`, kind, annotations)
}

func ownKinds() []string {
	return []string{"ClusterRegoPolicy", "Waiver", "ClusterWaiver", "PolicySource", "Remediation", "RemediationSlice",
		"RemediationBreaker"}
}

func TestAMalformedObjectLeavesTheOthersOfItsListReadable(t *testing.T) {
	for _, kind := range ownKinds() {
		t.Run(kind, func(t *testing.T) {
			counted := prometheus.NewRegistry()
			lists, log := told(t, counted)
			list := fmt.Sprintf(
				`{"apiVersion":"evenkeel.dev/v1alpha1","kind":"%sList","metadata":{"resourceVersion":"9","continue":"c"},"items":[%s,%s]}`, kind, good(kind, ""), bad(kind))
			var got struct {
				Metadata struct{ ResourceVersion, Continue string }
				Items    []json.RawMessage
			}
			if err := json.Unmarshal([]byte(read(t, lists, ownPath+"them", list)), &got); err != nil {
				t.Fatal(err)
			}
			if len(got.Items) != 2 || string(got.Items[0]) != good(kind, "") || got.Metadata.ResourceVersion != "9" ||
				got.Metadata.Continue != "c" {
				t.Errorf("the list is %+v", got)
			}
			namedAlone(t, got.Items[1])
			read(t, lists, ownPath+"them", list) // the same version is said once
			if n := strings.Count(log.String(), `"name"="bad"`); n != 1 {
				t.Errorf("it is logged %d times: %s", n, log)
			}
			if n, err := testutil.GatherAndCount(counted, "evenkeel_malformed_objects_total"); err != nil || n != 1 {
				t.Errorf("%d series count it, %v", n, err)
			}
		})
	}
}

// namedAlone holds an object to its metadata and the reason.
func namedAlone(t *testing.T, text []byte) {
	t.Helper()
	p := &v1alpha1.ClusterRegoPolicy{}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, p); err != nil {
		t.Fatalf("it can't be read still: %v", err)
	}
	if _, has := whole["targets"]; has || len(whole) != 3 || p.Name != "bad" || p.UID != "u" ||
		p.ResourceVersion != "7" || !strings.Contains(v1alpha1.Malformed(p), "cannot unmarshal string") {
		t.Errorf("it is given as %s", text)
	}
}

func TestAMalformedObjectEndsNoWatch(t *testing.T) {
	lists, _ := told(t, nil)
	event := `{"type":%q,"object":%s}`
	fine := fmt.Sprintf(event, "ADDED", good("ClusterRegoPolicy", ""))
	bookmark := fmt.Sprintf(event, "BOOKMARK",
		`{"kind":"ClusterRegoPolicy","apiVersion":"evenkeel.dev/v1alpha1","metadata":{"resourceVersion":"8"}}`)
	gone := fmt.Sprintf(event, "ERROR", `{"kind":"Status","apiVersion":"v1","code":410}`)
	got := read(t, lists, ownPath+"clusterregopolicies?watch=true",
		fine+fmt.Sprintf(event, "MODIFIED", bad("ClusterRegoPolicy"))+"\n"+bookmark+gone)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 4 || lines[0] != fine || lines[2] != bookmark || lines[3] != gone {
		t.Fatalf("the events are\n%s", got)
	}
	var changed struct {
		Type   string
		Object json.RawMessage
	}
	if err := json.Unmarshal([]byte(lines[1]), &changed); err != nil || changed.Type != "MODIFIED" {
		t.Fatalf("%v in %s", err, lines[1])
	}
	namedAlone(t, changed.Object)
}

func TestWhatIsReadableStaysAsItIs(t *testing.T) {
	forged := `"evenkeel.dev/malformed":"says who"`
	list := `{"apiVersion":"evenkeel.dev/v1alpha1","kind":"WaiverList","items":[%s]}`
	cases := map[string]struct{ reason, url, body, want string }{
		"a list":          {"nothing is wrong", ownPath + "waivers", fmt.Sprintf(list, good("Waiver", "")), ""},
		"one by its name": {"reading it is an error", ownPath + "waivers/bad", bad("Waiver"), ""},
		"metadata alone": {"it holds no spec", ownPath + "waivers",
			`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","items":[{"spec":"none"}]}`, ""},
		"another group": {"it isn't ours", "https://cluster/apis/apps/v1/deployments",
			`{"kind":"DeploymentList","apiVersion":"apps/v1","items":[1]}`, ""},
		"no JSON": {"it is given on", ownPath + "waivers", `<html>`, ""},
		"a stored mark": {"whoever may annotate would take an object out of force", ownPath + "waivers",
			fmt.Sprintf(list, good("Waiver", forged)), "says who"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lists, log := told(t, nil)
			got := read(t, lists, tc.url, tc.body)
			if tc.want == "" && got != tc.body {
				t.Errorf("%s: it became %s", tc.reason, got)
			}
			if tc.want != "" && (strings.Contains(got, tc.want) || !strings.Contains(got, `"extra":1`)) {
				t.Errorf("%s: it is %s", tc.reason, got)
			}
			if log.Len() > 0 {
				t.Errorf("%s: it is logged: %s", tc.reason, log)
			}
		})
	}
}
