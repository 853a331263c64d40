// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/hack/bench/own/internal/cpu"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/webhook/review"
)

// recorder keeps what its judge is asked, and the messages of what it finds.
type recorder struct {
	review.Judge
	request  *policy.Request
	messages []string
	err      error
}

func (r *recorder) EvaluateWhere(ctx context.Context, req *policy.Request,
	keep func(*v1alpha1.ClusterRegoPolicy) bool) []catalog.Result {
	kept := *req
	r.request = &kept
	results := r.Judge.EvaluateWhere(ctx, req, keep)
	for i := range results {
		if err := results[i].Err; err != nil {
			r.err = fmt.Errorf("policy %s: %w", results[i].Definition.Name, err)
		}
		for _, v := range results[i].Violations {
			r.messages = append(r.messages, v.Message)
		}
	}
	return results
}

// verdicts are the messages of each review.
func verdicts(snapshot *catalog.Snapshot, bodies [][]byte) ([][]string, error) {
	recorded := &recorder{Judge: snapshot}
	h, err := handler(recorded)
	if err != nil {
		return nil, err
	}
	var all [][]string
	for _, body := range bodies {
		recorded.messages = []string{}
		if err := post(h, body); err != nil {
			return nil, err
		}
		if recorded.err != nil {
			return nil, recorded.err
		}
		slices.Sort(recorded.messages)
		all = append(all, recorded.messages)
	}
	return all, nil
}

func post(h http.Handler, body []byte) error {
	_, err := answered(h, body)
	return err
}

// answered is the body of what is answered.
func answered(h http.Handler, body []byte) ([]byte, error) {
	r := httptest.NewRequest(http.MethodPost, "/validate/ignore?timeout=10s", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("HTTP status %d: %s", w.Code, w.Body)
	}
	return w.Body.Bytes(), nil
}

// measure is the time that a review takes of the processors, garbage collection included, in nanoseconds.
func measure(snapshot *catalog.Snapshot, bodies [][]byte, limit time.Duration) (int64, error) {
	h, err := handler(snapshot)
	if err != nil {
		return 0, err
	}
	return cpu.Each(limit, len(bodies), func() error {
		for _, body := range bodies {
			if err := post(h, body); err != nil {
				return err
			}
		}
		return nil
	})
}

// allocations is how many a review takes, once all were answered before.
func allocations(snapshot *catalog.Snapshot, bodies [][]byte) (int64, error) {
	const rounds = 20
	h, err := handler(snapshot)
	if err != nil {
		return 0, err
	}
	var before, after runtime.MemStats
	for round := range rounds + 1 {
		for _, body := range bodies {
			if err := post(h, body); err != nil {
				return 0, err
			}
		}
		if round == 0 {
			runtime.ReadMemStats(&before)
		}
	}
	runtime.ReadMemStats(&after)
	return int64(after.Mallocs-before.Mallocs) / int64(rounds*len(bodies)), nil
}

// measureDecoded is the time that the judging alone takes: the requests are decoded before.
func measureDecoded(ctx context.Context, snapshot *catalog.Snapshot, bodies [][]byte,
	limit time.Duration) (int64, error) {
	var requests []*policy.Request
	for _, body := range bodies {
		recorded := &recorder{Judge: snapshot}
		h, err := handler(recorded)
		if err != nil {
			return 0, err
		}
		if err := post(h, body); err != nil {
			return 0, err
		}
		requests = append(requests, recorded.request)
	}
	all := func(*v1alpha1.ClusterRegoPolicy) bool { return true }
	return cpu.Each(limit, len(requests), func() error {
		for _, r := range requests {
			for _, result := range snapshot.EvaluateWhere(ctx, r, all) {
				if result.Err != nil {
					return result.Err
				}
			}
		}
		return nil
	})
}

func lines(file string) ([][]byte, error) {
	text, err := os.ReadFile(file)
	return bytes.Split(bytes.TrimSpace(text), []byte("\n")), err
}
