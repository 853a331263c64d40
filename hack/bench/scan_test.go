// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestClusterPodsAreWholePodsInOrderAndEachHundredthViolates(t *testing.T) {
	pods, err := newClusterPods(600, 100)
	if err != nil {
		t.Fatal(err)
	}
	var keys, uids []string
	violating := 0
	for n := range pods.Len() {
		text := pods.Append(nil, n)
		if len(text) < 14_000 || len(text) > 15_000 {
			t.Fatalf("Pod %d has %d bytes", n, len(text))
		}
		var pod struct {
			Metadata struct{ Namespace, Name, UID, ResourceVersion string }
			Spec     struct{ HostPID bool }
		}
		if err := json.Unmarshal(text, &pod); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, pod.Metadata.Namespace+"/"+pod.Metadata.Name)
		uids = append(uids, pod.Metadata.UID)
		if pod.Metadata.ResourceVersion != fmt.Sprint(100_000+n) {
			t.Errorf("Pod %d has the resource version %q", n, pod.Metadata.ResourceVersion)
		}
		if pod.Spec.HostPID {
			violating++
		}
	}
	slices.Sort(uids)
	sorted := slices.IsSorted(keys)
	keys, uids = slices.Compact(keys), slices.Compact(uids)
	if !sorted || len(keys) != 600 || len(uids) != 600 || violating != 6 {
		t.Errorf("%d names, sorted: %v, %d UIDs, %d violate", len(keys), sorted, len(uids), violating)
	}
}

func TestAPageIsOneLineOfPods(t *testing.T) {
	pages := filepath.Join(t.TempDir(), "pages")
	size, err := writePages(pages, 30, 3)
	if err != nil || size < 14_000 {
		t.Fatalf("%d bytes a Pod, %v", size, err)
	}
	text, err := os.ReadFile(pages)
	if err != nil || strings.Contains(string(text), "\n") || strings.Count(string(text), "DB_PASSWORD") != 10 {
		t.Errorf("a page isn't one line with ten Pods of thirty that violate: %v", err)
	}
}

func TestMemoryIsToldPassByPass(t *testing.T) {
	of := func(most int64) *scanReport {
		r := &scanReport{}
		r.First = passFigures{CPU: 3 * time.Second, Time: 2 * time.Second, Most: most << 20, Settled: 90 << 20,
			Live: 40 << 20}
		r.Change = r.First
		r.Change.Asked = map[string]struct{ Requests, Bytes int64 }{"watch pods": {1, 3 << 20},
			"watch namespaces": {0, 7}}
		return r
	}
	got := memoryTable(1000, []*scanReport{of(120), of(300)})
	for _, want := range []string{"| first sync: most resident | 120 MB | 300 MB |",
		"| first sync: CPU | 3 s, 3.00 ms a Pod | 3 s, 3.00 ms a Pod |",
		"| a policy is changed: asked of the API server | watch pods: 1, 3.0 MB |"} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}
}
