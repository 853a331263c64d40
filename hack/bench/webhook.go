// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"evenkeel.dev/evenkeel/hack/bench/internal/own"
)

// The load of a webhook: so many requests a second that the no-op takes such a share of a processor, whatever processor
// it is; for so long in each round.
const (
	webhookShare = 0.08
	webhookLoad  = 2500 * time.Millisecond
	// trialRate is the rate by which a request of the no-op is measured first.
	trialRate = 200
)

// webhook measures Evenkeel's webhook beside one that admits everything, over TLS: the same AdmissionReviews at the
// same rate. Half of the Pods violate nothing.
func (b *bench) webhook(ctx context.Context) error {
	rules, size, err := b.writeReviews()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	noop, evenkeel, err := b.webhooks(ctx)
	if err != nil {
		return err
	}
	var reviews [][]byte
	for _, file := range []string{"clean", "mixed"} {
		text, err := os.ReadFile(b.in(file))
		if err != nil {
			return err
		}
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		if err := answerRightly(ctx, noop, evenkeel, lines, file == "clean"); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		reviews = append(reviews, lines...)
	}
	trial, err := noop.load(ctx, reviews, trialRate, b.seed)
	if err != nil {
		return err
	}
	rate := max(10, int(webhookShare/(trial[0]/1000)/10)*10)
	c := contest{name: "webhook", metrics: []metric{{"CPU of a request", "ms"}, {"p50", "ms"}, {"p99", "ms"}}}
	for name, w := range map[string]*poster{"no-op": noop, "Evenkeel": evenkeel} {
		measure := func(ctx context.Context, round int) ([]float64, error) {
			return w.load(ctx, reviews, rate, b.seed+uint64(round))
		}
		c.contestants = append(c.contestants, contestant{name, measure})
	}
	slices.SortFunc(c.contestants, func(a, b contestant) int { return strings.Compare(b.name, a.name) }) // no-op first
	if err := c.run(ctx, b.runs); err != nil {
		return err
	}
	return c.report(b.table, fmt.Sprintf("%d rules that match a Pod, AdmissionReviews of %d bytes, half of Pods "+
		"without violations, half of others. %d requests a second for %s a round.", rules, size, rate, webhookLoad))
}

// webhooks starts both.
func (b *bench) webhooks(ctx context.Context) (noop, evenkeel *poster, err error) {
	var started []*poster
	for _, name := range []string{"noop", "webhook"} {
		p, err := worker(name)
		if err != nil {
			return nil, nil, err
		}
		s, err := b.serve(ctx, p, func(at serving) any {
			return own.Served{Port: at.Port, Certificates: at.Certificates, Rules: b.in("rules.yaml")}
		})
		if err != nil {
			return nil, nil, err
		}
		started = append(started, newPoster(s))
	}
	return started[0], started[1], nil
}

// answerRightly checks that the no-op admits every review, and Evenkeel either all or not all.
func answerRightly(ctx context.Context, noop, evenkeel *poster, reviews [][]byte, all bool) error {
	refused := 0
	for i, review := range reviews {
		admitted, err := noop.admits(ctx, review)
		if err != nil || !admitted {
			return fmt.Errorf("review %d: the no-op answers allowed %t, %w", i, admitted, err)
		}
		if admitted, err = evenkeel.admits(ctx, review); err != nil {
			return err
		}
		if !admitted {
			refused++
		}
	}
	if (refused == 0) != all {
		return fmt.Errorf("%d of %d reviews are refused by Evenkeel", refused, len(reviews))
	}
	return nil
}

// poster sends reviews to a webhook as the API server does to one behind a Service: by HTTP/1.1, over connections that
// it keeps, of which as many may be idle as with client-go.
type poster struct {
	url  string
	pid  int
	http *http.Client
}

func newPoster(s *server) *poster {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.authority}, Protocols: &protocols,
		MaxIdleConnsPerHost: 25, IdleConnTimeout: 90 * time.Second}
	return &poster{s.url + "/validate/ignore?timeout=10s", s.pid, &http.Client{Transport: transport}}
}

// post sends a review, and returns the body of the answer.
func (p *poster) post(ctx context.Context, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, */*")
	response, err := p.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", p.url, response.Status, text)
	}
	return text, err
}

func (p *poster) admits(ctx context.Context, review []byte) (bool, error) {
	text, err := p.post(ctx, review)
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

// load sends reviews at a rate. It returns the webhook's CPU time for each, and the 50th and the 99th percentile of the
// time from when a request was sent to the last byte of its answer, in milliseconds.
func (p *poster) load(ctx context.Context, reviews [][]byte, rate int, seed uint64) ([]float64, error) {
	before, err := cpuOf(p.pid)
	if err != nil {
		return nil, err
	}
	took, err := atRate(ctx, rate, webhookLoad, seed, func(ctx context.Context, n int) error {
		_, err := p.post(ctx, reviews[n%len(reviews)])
		return err
	})
	if err != nil {
		return nil, err
	}
	after, err := cpuOf(p.pid)
	slices.Sort(took)
	measured := []float64{(after - before).Seconds() * 1000 / float64(len(took))}
	for _, percentile := range []int{50, 99} {
		measured = append(measured, took[len(took)*percentile/100].Seconds()*1000)
	}
	return measured, err
}

// atRate sends requests at random intervals that come to a rate a second, whether earlier ones are answered or not. It
// returns how long each took.
func atRate(ctx context.Context, rate int, during time.Duration, seed uint64,
	send func(ctx context.Context, n int) error) ([]time.Duration, error) {
	var (
		random  = rand.New(rand.NewPCG(seed, seed))
		waiting sync.WaitGroup
		mu      sync.Mutex
		took    []time.Duration
		failed  error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next := time.Now()
	for n, end := 0, next.Add(during); ctx.Err() == nil; n++ {
		next = next.Add(time.Duration(random.ExpFloat64() * float64(time.Second) / float64(rate)))
		if next.After(end) {
			break
		}
		time.Sleep(time.Until(next))
		waiting.Go(func() {
			began := time.Now()
			err := send(ctx, n)
			lasted := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			if took = append(took, lasted); err != nil && failed == nil {
				failed = err
				cancel()
			}
		})
	}
	waiting.Wait()
	if failed == nil && len(took) == 0 {
		failed = fmt.Errorf("no request was sent: %w", context.Cause(ctx))
	}
	return took, failed
}

// cpuOf is the CPU time of a process, all its threads together. Linux counts it in nanoseconds, by a clock for each
// process: clock_getcpuclockid(3) describes how that is named.
func cpuOf(pid int) (time.Duration, error) {
	const ofScheduler = 2
	var spent syscall.Timespec
	_, _, code := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(^pid<<3|ofScheduler),
		uintptr(unsafe.Pointer(&spent)), 0)
	if code != 0 {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, code)
	}
	return time.Duration(spent.Nano()), nil
}
