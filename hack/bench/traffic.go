// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// poster sends bodies to one address. To a webhook it does so as the API server does: over connections that it keeps,
// of which as many may rest as with client-go. To a webhook behind a Service the API server speaks HTTP/1.1 alone, to
// one at a URL HTTP/2 if that is spoken there.
type poster struct {
	url  string
	http *http.Client
}

func newPoster(url string, authority *x509.CertPool, http2 bool) *poster {
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	return &poster{url: url, http: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authority}, Protocols: &protocols, MaxIdleConnsPerHost: 25,
		IdleConnTimeout: 90 * time.Second}}}
}

// post sends a body. It says with which status, and what, is answered.
func (c *poster) post(ctx context.Context, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, */*")
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

// answer is what is answered with a status of success.
func (c *poster) answer(ctx context.Context, body []byte) ([]byte, error) {
	status, text, err := c.post(ctx, body)
	if err == nil && status/100 != http.StatusOK/100 {
		err = fmt.Errorf("%s answers %d: %s", c.url, status, text)
	}
	return text, err
}

// atRate sends requests for a while, at random intervals that come to a rate a second, whether earlier ones are
// answered or not. It says how long each took, from when it was sent to the last byte of its answer.
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

// inTurn has clients send for a while, each the next request once its last is answered. It says how long each took, and
// how long all of it lasted.
func inTurn(ctx context.Context, clients int, during time.Duration,
	send func(ctx context.Context, client int) error) ([]time.Duration, time.Duration, error) {
	var (
		sending sync.WaitGroup
		took    = make([][]time.Duration, clients)
		failed  = make([]error, clients)
		began   = time.Now()
	)
	for client := range clients {
		sending.Go(func() {
			for sent := began; failed[client] == nil && sent.Sub(began) < during; {
				failed[client] = send(ctx, client)
				now := time.Now()
				took[client] = append(took[client], now.Sub(sent))
				sent = now
			}
		})
	}
	sending.Wait()
	return slices.Concat(took...), time.Since(began), errors.Join(failed...)
}

// percentile is the least of the values that so many of a hundred don't exceed.
func percentile(values []time.Duration, of float64) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	at := int(float64(len(sorted))*of/100+0.999999) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

// cpuOf is the time that a process has had of the processors, all its threads together. Linux counts it in
// nanoseconds, by a clock for each process: clock_getcpuclockid(3) says how that is named.
func cpuOf(pid int) (time.Duration, error) {
	const ofScheduler = 2
	var spent syscall.Timespec
	_, _, code := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(^pid<<3|ofScheduler),
		uintptr(unsafe.Pointer(&spent)), 0)
	if code != 0 {
		return 0, fmt.Errorf("read what process %d has had of the processors: %w", pid, code)
	}
	return time.Duration(spent.Nano()), nil
}

func cpuOfEach(processes []int) ([]time.Duration, error) {
	var all []time.Duration
	for _, pid := range processes {
		spent, err := cpuOf(pid)
		if err != nil {
			return nil, err
		}
		all = append(all, spent)
	}
	return all, nil
}

// writePodReviews writes AdmissionReviews of Pods, one a line, the same ones for the same seed. The first is of a Pod
// that violates nothing. It says how long one is on average, in bytes.
func writePodReviews(file string, count int, seed uint64) (int, error) {
	e := estate{rand.New(rand.NewPCG(seed, seed))}
	return writeReviews(file, count, func(n int) map[string]any {
		return wholePod(n, func(of int) bool { return n > 0 && e.IntN(of) == 0 })
	})
}

// writeWorkloadReviews writes AdmissionReviews of Pods as the ReplicaSets of so many workloads make them, in random
// order: each has a name, a UID and a token's volume of its own. None violates anything.
func writeWorkloadReviews(file string, count, workloads int, seed uint64) (int, error) {
	e := estate{rand.New(rand.NewPCG(seed, seed))}
	return writeReviews(file, count, func(n int) map[string]any { return workloadPod(e.IntN(workloads), n) })
}

// writeReviews writes the AdmissionReviews for the creation of so many Pods.
func writeReviews(file string, count int, pod func(n int) map[string]any) (size int, err error) {
	var text bytes.Buffer
	for n := range count {
		object := pod(n)
		metadata, _ := object["metadata"].(map[string]any)
		raw, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"request": map[string]any{"uid": fmt.Sprintf("705ab4f5-6393-11e8-b7cc-%012d", n), "operation": "CREATE",
				"kind":      map[string]any{"group": "", "version": "v1", "kind": "Pod"},
				"resource":  map[string]any{"group": "", "version": "v1", "resource": "pods"},
				"namespace": metadata["namespace"], "name": metadata["name"], "object": object, "oldObject": nil,
				"userInfo": map[string]any{"username": "jane", "groups": []any{"system:authenticated"}},
				"options":  map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}, "dryRun": false}})
		if err != nil {
			return 0, err
		}
		text.Write(append(raw, '\n'))
	}
	return text.Len() / count, os.WriteFile(file, text.Bytes(), 0o600)
}

// workloadPod is the nth Pod, made for one of several workloads.
func workloadPod(workload, n int) map[string]any {
	pod := wholePod(n, func(int) bool { return false })
	spec, _ := pod["spec"].(map[string]any)
	for _, c := range containersOf(spec) {
		c["image"] = fmt.Sprintf("registry.example.com/shop/web@sha256:%064x", workload)
	}
	mountToken(spec, fmt.Sprintf("kube-api-access-%05d", n))
	return pod
}

// mountToken adds the volume that Kubernetes gives each Pod, whose name is the Pod's own.
func mountToken(spec map[string]any, name string) {
	volumes, _ := spec["volumes"].([]any)
	spec["volumes"] = append(volumes, map[string]any{"name": name, "projected": map[string]any{"sources": []any{
		map[string]any{"serviceAccountToken": map[string]any{"expirationSeconds": 3607, "path": "token"}}}}})
	for _, c := range containersOf(spec) {
		mounts, _ := c["volumeMounts"].([]any)
		c["volumeMounts"] = append(mounts, map[string]any{"name": name, "readOnly": true,
			"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"})
	}
}

// containersOf are all containers of a Pod's specification.
func containersOf(spec map[string]any) (all []map[string]any) {
	for _, field := range []string{"containers", "initContainers"} {
		containers, _ := spec[field].([]any)
		for _, c := range containers {
			container, _ := c.(map[string]any)
			all = append(all, container)
		}
	}
	return all
}
