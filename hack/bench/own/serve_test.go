// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/hack/bench/own/internal/servetest"
)

func TestTheWebhookIsServedOverTLS(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	answer := servetest.Answer(t, func(ctx context.Context, port int, dir string) error {
		return serve(ctx, rules, "compiled", port, dir)
	}, strings.NewReplacer("NAME", "db", "LABELS", "{}").Replace(podReview))
	if !strings.Contains(answer, `"allowed":false`) || !strings.Contains(answer, "db has no owner") {
		t.Errorf("it answers %s", answer)
	}
}

func TestWithoutRulesThereAreNoPolicies(t *testing.T) {
	snapshot, err := policies(t.Context(), "", "compiled")
	if err != nil || len(snapshot.Policies()) != 0 {
		t.Errorf("%v, %v", snapshot, err)
	}
}
