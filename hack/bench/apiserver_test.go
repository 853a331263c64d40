// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEachPodDepartsFromTheRulesInAPlaceOfItsOwn(t *testing.T) {
	seen := map[string]int{}
	for n := range departures() + 1 {
		pod, err := podIn("there", n)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(pod, []byte(`"namespace":"there"`)) || bytes.Contains(pod, []byte("managedFields")) {
			t.Fatalf("Pod %d isn't as a controller makes it: %s", n, pod)
		}
		text := strings.Replace(string(pod), fmt.Sprintf("web-6b9f8c7d55-%05d", n), "NAME", 1)
		if before, same := seen[text]; same {
			t.Errorf("Pod %d is Pod %d", n, before)
		}
		seen[text] = n
	}
	if len(seen) < 50 {
		t.Errorf("there are %d Pods", len(seen))
	}
}

func TestVerdictsAreReadFromWhatTheAPIServerAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		status  int
		message string
		want    podVerdict
	}{
		"admitted": {http.StatusCreated, "", podVerdict{valid: true, allowed: true}},
		"invalid": {http.StatusUnprocessableEntity, "spec: Invalid value",
			podVerdict{messages: []string{"spec: Invalid value"}}},
		"by an expression": {http.StatusUnprocessableEntity,
			"pods \"web\" is forbidden: ValidatingAdmissionPolicy 'bench-host' with binding 'bench-host' denied " +
				"request: host",
			podVerdict{valid: true}},
		"by Gatekeeper": {http.StatusForbidden,
			"admission webhook \"validation.gatekeeper.sh\" denied the request: [labels] b is missing\n" +
				"[tags] a [0] is wrong",
			podVerdict{valid: true, messages: []string{"a [0] is wrong", "b is missing"}}},
		"by Kyverno": {http.StatusBadRequest,
			"admission webhook \"vpol.validate.kyverno.svc-ignore\" denied the request: Policy bench-host failed: " +
				"host; Policy bench-labels failed: labels",
			podVerdict{valid: true, messages: []string{"host", "labels"}}},
		"by Evenkeel": {http.StatusForbidden,
			"admission webhook \"ignore.evenkeel.dev\" denied the request: Pod web is refused by policy tags " +
				"(Medium): t\n- b is missing\n- a [0] is wrong\n  Runbook: https://example.com\n" +
				"and by policy labels (Medium): l\n- c",
			podVerdict{valid: true, messages: []string{"a [0] is wrong", "b is missing", "c"}}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(map[string]any{"message": tc.message})
			if err != nil {
				t.Fatal(err)
			}
			got, err := verdictOf(tc.status, text)
			if err != nil || got.valid != tc.want.valid || got.allowed != tc.want.allowed ||
				!slices.Equal(got.messages, tc.want.messages) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	for message, status := range map[string]int{"no": http.StatusInternalServerError, "bad": http.StatusBadRequest,
		"denied the request: Policy bench-host error: no such key": http.StatusBadRequest} {
		if _, err := verdictOf(status, fmt.Appendf(nil, `{"message":%q}`, message)); err == nil {
			t.Errorf("an error %d is a verdict: %s", status, message)
		}
	}
}

func TestThoseWithTheSameRulesAreHeldToTheSameVerdicts(t *testing.T) {
	const gatekeepers = `admission webhook "g" denied the request: [r] wrong`
	const own = "refused by policy r:\n- wrong"
	for name, tc := range map[string]struct {
		// all are what nobody, Evenkeel, Gatekeeper, the expressions, Evenkeel with five and Kyverno say of all Pods
		// but the first.
		all [6]string
		err string
	}{
		"the same":              {[6]string{"", own, gatekeepers, "no", "no", "no"}, ""},
		"Evenkeel admits":       {[6]string{"", "", gatekeepers, "no", "no", "no"}, "false by Gatekeeper"},
		"another message":       {[6]string{"", "refused:\n- other", gatekeepers, "no", "no", "no"}, `"other"`},
		"the expressions admit": {[6]string{"", own, gatekeepers, "", "no", "no"}, "true by the expressions"},
		"Kyverno admits":        {[6]string{"", own, gatekeepers, "no", "no", ""}, "true by Kyverno"},
		"Kyverno names others":  {[6]string{"", own, gatekeepers, "no", own, "no"}, `by Kyverno, for []`},
		"nothing is refused":    {[6]string{}, "no Pod is refused"},
	} {
		t.Run(name, func(t *testing.T) {
			var admissions []*admission
			for _, says := range tc.all {
				url, authority := overTLS(t, func(w http.ResponseWriter, r *http.Request) {
					pod, err := io.ReadAll(r.Body)
					if err != nil || says == "" || bytes.Contains(pod, []byte("web-6b9f8c7d55-00000")) {
						w.WriteHeader(http.StatusCreated)
						return
					}
					w.WriteHeader(http.StatusForbidden)
					_ = json.NewEncoder(w).Encode(map[string]any{"message": says})
				})
				admissions = append(admissions, &admission{name: says, namespace: "there",
					clients: []*poster{newPoster(url, authority, true)}})
			}
			found, err := compareOnPods(t.Context(), admissions)
			if tc.err == "" && (err != nil || !strings.Contains(found, "the same 56 with the same 56 messages")) ||
				tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s, %v", found, err)
			}
		})
	}
}

func TestFiguresOfAdmissionsAreBesideNobodys(t *testing.T) {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	of := func(rate, p50, p99 float64) []created {
		return []created{{rate: rate, p50: ms(p50), p99: ms(p99), judge: ms(1), server: ms(2)}}
	}
	admissions := []*admission{{name: "nobody"}, {name: "E", judge: &child{}}, {name: "G", judge: &child{}},
		{name: "V"}, {name: "F", judge: &child{}}, {name: "K", judge: &child{}}}
	results := [][]created{of(500, 6, 20), of(400, 8, 21), of(50, 80, 100), of(450, 7, 22), of(495, 7, 22),
		of(330, 9, 30)}
	got := admissionsTable(admissions, results)
	for _, want := range []string{
		"| nobody | 500 (500 – 500) | 100 % (100 % – 100 %) | 6.00 ms (6.00 ms – 6.00 ms) | " +
			"0.00 ms (0.00 ms – 0.00 ms) |",
		"| E | 400 (400 – 400) | 80 % (80 % – 80 %) | 8.00 ms (8.00 ms – 8.00 ms) | 2.00 ms (2.00 ms – 2.00 ms) | " +
			"21.00 ms (21.00 ms – 21.00 ms) | 1.00 ms (1.00 ms – 1.00 ms) | 1.00 ms (1.00 ms – 1.00 ms) | " +
			"2.00 ms (2.00 ms – 2.00 ms) |",
		"| V | 450 (450 – 450) | 90 % (90 % – 90 %) | 7.00 ms (7.00 ms – 7.00 ms) | 1.00 ms (1.00 ms – 1.00 ms) | " +
			"22.00 ms (22.00 ms – 22.00 ms) | 2.00 ms (2.00 ms – 2.00 ms) | – | 2.00 ms (2.00 ms – 2.00 ms) |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}
	const want = "E to G: 8.00 (8.00 – 8.00) times.\nPods a second, F to V: 1.10 (1.10 – 1.10) times.\n" +
		"Pods a second, F to K: 1.50 (1.50 – 1.50) times.\n"
	if got := admissionsAdded(admissions, results); !strings.HasSuffix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestClientsSendOneRequestAfterTheOther(t *testing.T) {
	busy := make([]chan struct{}, 3)
	for i := range busy {
		busy[i] = make(chan struct{}, 1)
	}
	took, lasted, err := inTurn(t.Context(), len(busy), 30*time.Millisecond, func(_ context.Context, client int) error {
		busy[client] <- struct{}{} // it would wait for ever if the client sent two at once
		<-busy[client]
		return nil
	})
	if err != nil || len(took) < 3 || lasted < 30*time.Millisecond {
		t.Errorf("%d requests in %s, %v", len(took), lasted, err)
	}
	if _, _, err := inTurn(t.Context(), 2, time.Hour, func(context.Context, int) error { return io.EOF }); err == nil {
		t.Error("requests that fail have figures")
	}
}

func TestManifestsAreChosenByKind(t *testing.T) {
	const text = "apiVersion: v1\nkind: Namespace\n---\nspec: {}\nkind: Service\n---\nkind: Secret\nspec:\n" +
		"  kind: Namespace"
	if got := string(ofKinds([]byte(text), "Namespace", "Secret")); got !=
		"apiVersion: v1\nkind: Namespace\n---\nkind: Secret\nspec:\n  kind: Namespace" {
		t.Errorf("%q", got)
	}
}

func TestACounterIsTheSumOfItsSeries(t *testing.T) {
	const metrics = "# TYPE open counter\nopen{name=\"a\"} 2\nopen_other{name=\"a\"} 9\nopen{name=\"b} \"} 3\nopen 7\n"
	if sum, err := sumOf(metrics[:strings.Index(metrics, "open{name=\"b")], "open"); sum != 2 || err != nil {
		t.Errorf("%v, %v", sum, err)
	}
	if _, err := sumOf(metrics, "open"); err == nil {
		t.Error("what is no number is counted")
	}
}

func TestAKubeconfigActsAsSomebodyElse(t *testing.T) {
	got, err := actingAs([]byte(`{"users":[{"name":"a","user":{"client-key-data":"eA=="}}]}`), "jane", []string{"all"})
	if want := `{"users":[{"name":"a","user":{"as":"jane","as-groups":["all"],"client-key-data":"eA=="}}]}`; err != nil ||
		string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestAProcessIsFoundByItsProgramAndItsFolder(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "cat", "-", filepath.Join(dir, "none"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	if pid, err := processOf("cat", dir); err != nil || pid != cmd.Process.Pid {
		t.Errorf("%d, %v; it is %d", pid, err, cmd.Process.Pid)
	}
	if _, err := processOf("dog", dir); err == nil || !strings.Contains(err.Error(), "no process dog") {
		t.Errorf("it says %v", err)
	}
}
