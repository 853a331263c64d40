// SPDX-License-Identifier: Apache-2.0

// Package own answers AdmissionReviews by Evenkeel's webhook, to measure it and to compare its verdicts with
// Gatekeeper's. The policies are those that migrate makes of ConstraintTemplates and constraints. Start at Answer.
package own

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/webhook/review"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// Question is what Answer is asked. The fields up to Time are those of hack/bench/gator/engine.
type Question struct {
	// Rules is a file of ConstraintTemplates and constraints.
	Rules string
	// Known is a file of the cluster's objects, Namespaces among them.
	Known string
	// Reviews is a file of AdmissionReviews, one a line.
	Reviews string
	// Time is how long the answers are measured; 0 asks for the verdicts.
	Time time.Duration
	// Engine is compiled, the default, or topdown.
	Engine string
}

// Verdict is the verdict on one review.
type Verdict struct {
	Allowed bool `json:"allowed"`
	// Violations are sorted: "ACTION CONSTRAINT: MESSAGE".
	Violations []string `json:"violations"`
}

// Answer returns the verdict of each review, or the CPU time of one review in nanoseconds: from the bytes of the
// AdmissionReview to those of the response, garbage collection included.
func Answer(ctx context.Context, q Question) (any, error) {
	c, _, err := Policies(ctx, q.Rules, q.Engine)
	if err != nil {
		return nil, err
	}
	objects, in, err := cluster(ctx, q.Known)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(q.Reviews)
	if err != nil {
		return nil, err
	}
	bodies := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	judge := c.Snapshot().Seeing(inventory.NewFixed(objects, nil))
	if q.Time > 0 {
		return measure(in, judge, bodies, q.Time)
	}
	return verdicts(in, judge, bodies)
}

// Policies returns the policies that a file of ConstraintTemplates and constraints becomes, and a catalog of them. One
// that can't be migrated is an error.
func Policies(ctx context.Context, file, engine string) (
	c *catalog.Catalog, policies []*v1alpha1.ClusterRegoPolicy, err error) {
	documents, err := manifest.Read(ctx, []string{file}, nil, manifest.Options{})
	if err != nil {
		return nil, nil, err
	}
	options := catalog.Options{TimeLimit: 5 * time.Second}
	if engine == "topdown" {
		options.Engine = rego.Topdown
	}
	c = catalog.New(options)
	items := gatekeeper.Migrate(documents, gatekeeper.Options{Owner: "platform", Severity: v1alpha1.SeverityMedium})
	for i := range items {
		if items[i].State != gatekeeper.Migrated {
			return nil, nil, fmt.Errorf("%s: %s: %v", items[i].Object, items[i].State, items[i].Notes)
		}
		if t := items[i].Template; t != nil {
			err = errors.Join(err, c.SetTemplate(t))
		}
	}
	for i := range items {
		if p := items[i].Policy; p != nil {
			err = errors.Join(err, c.Set(p))
			policies = append(policies, p)
		}
	}
	return c, policies, err
}

// namespaces are those of a cluster, by name.
type namespaces map[string]map[string]any

// Get implements review.Namespaces. Any other namespace has nothing but its name.
func (n namespaces) Get(_ context.Context, name string) (map[string]any, error) {
	if known := n[name]; known != nil {
		return known, nil
	}
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}, nil
}

// cluster reads the objects of a cluster; there are none without a file.
func cluster(ctx context.Context, file string) (objects []map[string]any, in namespaces, err error) {
	if file == "" {
		return nil, nil, nil
	}
	documents, err := manifest.Read(ctx, []string{file}, nil, manifest.Options{})
	in = namespaces{}
	for i := range documents {
		object := documents[i].Object
		objects = append(objects, object)
		if object["kind"] == "Namespace" && object["apiVersion"] == "v1" {
			name, _ := policy.Metadata(object)["name"].(string)
			in[name] = object
		}
	}
	return objects, in, err
}

// handler is the webhook's endpoint in a cluster of some namespaces.
func handler(in namespaces, judge review.Judge) (http.Handler, error) {
	metrics, err := serving.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		return nil, err
	}
	counts, err := review.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		return nil, err
	}
	return &review.Handler{
		Base: serving.Base{Reviews: serving.NewReader(1 << 30), Metrics: metrics,
			Clock: clock.RealClock{}, Log: logr.Discard()},
		Class:      v1alpha1.FailurePolicyIgnore, // that of Gatekeeper's webhook
		Judge:      func() review.Judge { return judge },
		Namespaces: in,
		Verdicts:   counts,
	}, nil
}

// recorder keeps the violations that its judge finds in one review, whatever their action.
type recorder struct {
	review.Judge
	violations []string
}

func (r *recorder) EvaluateWhere(ctx context.Context, request *policy.Request,
	keep func(*v1alpha1.ClusterRegoPolicy) bool) []catalog.Result {
	actions := map[v1alpha1.AdmissionAction]string{v1alpha1.AdmissionDeny: "deny", v1alpha1.AdmissionWarn: "warn"}
	results := r.Judge.EvaluateWhere(ctx, request, keep)
	for i := range results {
		name, action := results[i].Definition.Name, "dryrun"
		if err := results[i].Err; err != nil {
			r.violations = append(r.violations, fmt.Sprintf("error %s: %s", name, err))
		}
		if theirs, found := actions[results[i].Action()]; found {
			action = theirs
		}
		for _, v := range results[i].Violations {
			r.violations = append(r.violations, fmt.Sprintf("%s %s: %s", action, name, v.Message))
		}
	}
	return results
}

func verdicts(in namespaces, judge review.Judge, bodies [][]byte) (all []Verdict, err error) {
	recorded := &recorder{Judge: judge}
	h, err := handler(in, recorded)
	if err != nil {
		return nil, err
	}
	for _, body := range bodies {
		recorded.violations = []string{}
		text, err := post(h, body)
		if err != nil {
			return nil, err
		}
		var answer struct{ Response *struct{ Allowed bool } }
		if err := json.Unmarshal(text, &answer); err != nil {
			return nil, err
		}
		if answer.Response == nil {
			return nil, fmt.Errorf("there is no response in %s", text)
		}
		slices.Sort(recorded.violations)
		all = append(all, Verdict{Allowed: answer.Response.Allowed, Violations: recorded.violations})
	}
	return all, nil
}

func measure(in namespaces, judge review.Judge, bodies [][]byte, limit time.Duration) (int64, error) {
	h, err := handler(in, judge)
	if err != nil {
		return 0, err
	}
	all := func() error {
		for _, body := range bodies {
			if _, err := post(h, body); err != nil {
				return err
			}
		}
		return nil
	}
	if err := all(); err != nil { // what is done once isn't measured
		return 0, err
	}
	count, began := int64(0), CPU()
	for CPU()-began < limit {
		if err := all(); err != nil {
			return 0, err
		}
		count += int64(len(bodies))
	}
	return (CPU() - began).Nanoseconds() / count, nil
}

func post(h http.Handler, body []byte) ([]byte, error) {
	r := httptest.NewRequest(http.MethodPost, "/validate/ignore?timeout=10s", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("HTTP status %d: %s", w.Code, w.Body)
	}
	return w.Body.Bytes(), nil
}
