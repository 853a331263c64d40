// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// webhook is one program that answers AdmissionReviews over TLS.
type webhook struct {
	name    string
	command []string
	env     []string
	path    string
	http2   bool
	// judges says that it refuses what violates a rule; the others admit everything.
	judges bool

	process *child
	client  *poster
}

func buildWebhooks(ctx context.Context, work string) ([]*webhook, error) {
	here, err := root()
	if err != nil {
		return nil, err
	}
	own, noop, rules := filepath.Join(work, "own"), filepath.Join(work, "noop"), filepath.Join(work, "rules.yaml")
	for program, pkg := range map[string]string{own: ".", noop: "./noop"} {
		if err := goBuild(ctx, filepath.Join(here, "own"), program, pkg); err != nil {
			return nil, err
		}
	}
	const path = "/validate/ignore"
	judging := []string{own, "--rules", rules}
	return []*webhook{
		{name: "no-op", command: []string{noop}, env: deployed(), path: path},
		{name: "no-op, Go's own settings", command: []string{noop}, path: path},
		{name: "no-op, HTTP/2", command: []string{noop}, env: deployed(), path: path, http2: true},
		{name: "Evenkeel without policies", command: []string{own}, env: deployed(), path: path},
		{name: "Evenkeel", command: judging, env: deployed(), path: path, judges: true},
		{name: "Evenkeel, Go's own settings", command: judging, path: path, judges: true},
	}, nil
}

// expected are the messages of each review, as bench-engines compares them with Gatekeeper's.
func expected(ctx context.Context, webhooks []*webhook, in func(string) string) ([][]string, error) {
	judging := webhooks[slices.IndexFunc(webhooks, func(w *webhook) bool { return w.judges })]
	var messages [][]string
	err := judge{name: judging.name, command: judging.command}.ask(ctx, &messages, "--reviews", in("judged"))
	return messages, err
}

func startWebhooks(ctx context.Context, webhooks []*webhook, in func(string) string) error {
	authority, err := writeCertificate(in(""))
	if err != nil {
		return err
	}
	for i, w := range webhooks {
		if err := w.start(ctx, in(fmt.Sprintf("webhook-%d.log", i)), in(""), authority); err != nil {
			return err
		}
	}
	return nil
}

func (w *webhook) start(ctx context.Context, log, certificates string, authority *x509.CertPool) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	w.process, err = startChild(ctx, w.name, log, w.env, slices.Concat(w.command,
		[]string{"--serve", strconv.Itoa(port), "--certificates", certificates}))
	if err != nil {
		return err
	}
	w.client = newPoster(fmt.Sprintf("https://localhost:%d%s?timeout=10s", port, w.path), authority, w.http2)
	return w.process.awaitReady(ctx, func(ctx context.Context) error { return speaksTLS(ctx, port, authority) })
}

// answerRightly holds each webhook to what is expected of each review. It says how many are refused by those that
// judge.
func answerRightly(ctx context.Context, webhooks []*webhook, file string,
	messages [][]string) (refused int, err error) {
	reviews, err := reviewLines(file)
	if err != nil {
		return 0, err
	}
	if len(messages) != len(reviews) {
		return 0, fmt.Errorf("%d reviews have %d verdicts", len(reviews), len(messages))
	}
	for _, w := range webhooks {
		refused = 0
		for i, review := range reviews {
			allowed, err := w.admits(ctx, review)
			if err != nil {
				return 0, fmt.Errorf("%s, review %d: %w", w.name, i, err)
			}
			if want := !w.judges || len(messages[i]) == 0; allowed != want {
				return 0, fmt.Errorf("%s, review %d: it says allowed %t, with %d violations", w.name, i, allowed,
					len(messages[i]))
			}
			if len(messages[i]) > 0 {
				refused++
			}
		}
	}
	if refused == 0 || refused == len(reviews) {
		return 0, fmt.Errorf("%d of %d reviews violate a rule: that proves nothing", refused, len(reviews))
	}
	return refused, nil
}

func (w *webhook) admits(ctx context.Context, review []byte) (bool, error) {
	text, err := w.client.answer(ctx, review)
	if err != nil {
		return false, err
	}
	var asked struct{ Request struct{ UID string } }
	var answered struct {
		Response *struct {
			UID     string
			Allowed bool
		}
	}
	if err := errors.Join(json.Unmarshal(review, &asked), json.Unmarshal(text, &answered)); err != nil {
		return false, err
	}
	if answered.Response == nil || answered.Response.UID != asked.Request.UID {
		return false, fmt.Errorf("it answers another review: %s", text)
	}
	return answered.Response.Allowed, nil
}

func reviewLines(file string) ([][]byte, error) {
	text, err := os.ReadFile(file)
	return bytes.Split(bytes.TrimSpace(text), []byte("\n")), err
}
