// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWebhooksAreHeldToTheirVerdicts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reviews")
	if err := os.WriteFile(file, []byte(`{"request":{"uid":"good"}}`+"\n"+`{"request":{"uid":"bad"}}`+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	found := [][]string{{}, {"no owner"}}
	for name, tc := range map[string]struct {
		answer   string
		judges   bool
		messages [][]string
		err      string
	}{
		"one that judges rightly":        {`{"response":{"uid":"%s","allowed":%t}}`, true, found, ""},
		"one that judges another way":    {`{"response":{"uid":"%s","allowed":true}}`, true, found, "allowed true"},
		"one that admits everything":     {`{"response":{"uid":"%s","allowed":true}}`, false, found, ""},
		"one that refuses something":     {`{"response":{"uid":"%s","allowed":%t}}`, false, found, "allowed false"},
		"one that answers another":       {`{"response":{"uid":"other","allowed":true}}`, false, found, "another review"},
		"one without a response":         {`{"error":"none"}`, false, found, "another review"},
		"one that isn't JSON":            {`oops`, false, found, "review 0"},
		"reviews that violate nothing":   {`{"response":{"uid":"%s","allowed":true}}`, true, [][]string{{}, {}}, "proves nothing"},
		"more reviews than are expected": {`{}`, true, [][]string{{}}, "2 reviews have 1 verdicts"},
	} {
		t.Run(name, func(t *testing.T) {
			url, authority := overTLS(t, func(w http.ResponseWriter, r *http.Request) {
				uid := "good"
				if r.ContentLength == int64(len(`{"request":{"uid":"bad"}}`)) {
					uid = "bad"
				}
				text := strings.NewReplacer("%s", uid, "%t", fmt.Sprint(uid == "good")).Replace(tc.answer)
				_, _ = w.Write([]byte(text))
			})
			asked := &webhook{name: "it", judges: tc.judges, client: newPoster(url, authority, false)}
			refused, err := answerRightly(t.Context(), []*webhook{asked}, file, tc.messages)
			if tc.err == "" && (err != nil || refused != 1) || tc.err != "" &&
				(err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%d, %v", refused, err)
			}
		})
	}
}

func TestFiguresOfWebhooksHaveTheirRatiosByRound(t *testing.T) {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	got := webhookTable([]*webhook{{name: "no-op"}, {name: "other"}}, [][]served{
		{{ms(1), ms(2), ms(4)}, {ms(2), ms(2), ms(4)}, {ms(3), ms(2), ms(4)}},
		{{ms(2), ms(2), ms(6)}, {ms(2), ms(2), ms(6)}, {ms(9), ms(2), ms(6)}}})
	for _, want := range []string{
		"| no-op | 2.00 ms (1.00 ms – 3.00 ms) | 1.00 (1.00 – 1.00) |",
		"| other | 2.00 ms (2.00 ms – 9.00 ms) | 2.00 (1.00 – 3.00) | 2.00 ms (2.00 ms – 2.00 ms) | " +
			"1.00 (1.00 – 1.00) | 6.00 ms (6.00 ms – 6.00 ms) | 1.50 (1.50 – 1.50) |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}
}

func TestACertificateIsMadeThatClientsTrust(t *testing.T) {
	dir := t.TempDir()
	authority, err := writeCertificate(dir)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	if err := speaksTLS(t.Context(), port, authority); err == nil {
		t.Error("a port where nobody listens speaks TLS")
	}
	listener, err := tls.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port),
		&tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	if err := speaksTLS(t.Context(), port, authority); err != nil {
		t.Error(err)
	}
}

func TestAProgramThatEndsBeforeItIsReadySaysWhy(t *testing.T) {
	c, err := startChild(t.Context(), "sh", filepath.Join(t.TempDir(), "log"), []string{"WHY=no certificate"},
		[]string{"sh", "-c", "echo $WHY; exit 1"})
	if err != nil {
		t.Fatal(err)
	}
	err = c.awaitReady(t.Context(), func(context.Context) error { return os.ErrNotExist })
	if err == nil || !strings.Contains(err.Error(), "sh has ended: no certificate") {
		t.Errorf("it says %v", err)
	}
}
