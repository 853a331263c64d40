// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Proxy is an HTTP server on the loopback that forwards to the API server with
// the credentials of its configuration.
type Proxy struct {
	// URL is where the proxy listens.
	URL string

	upstream  *url.URL
	transport http.RoundTripper
	passing   *httputil.ReverseProxy
	server    *http.Server

	mu         sync.Mutex
	injections []*Injection
	writes     []Write
	watches    map[int]context.CancelFunc
	watched    int
	user       string
	groups     []string
}

// Start starts a proxy to the server that config names.
func Start(config *rest.Config) (*Proxy, error) {
	upstream, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	// Answers are read here, so they mustn't be compressed.
	config = rest.CopyConfig(config)
	config.DisableCompression = true
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p := &Proxy{URL: "http://" + listener.Addr().String(), upstream: upstream, transport: transport}
	p.passing = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			p.rewrite(r.Out)
		},
		Transport:     transport,
		FlushInterval: -1, // a watch event must not wait for the next
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }() // ends with Close, without news
	return p, nil
}

// Close cuts every connection and ends the proxy.
func (p *Proxy) Close() error {
	if err := p.server.Close(); err != nil {
		return fmt.Errorf("close the proxy: %w", err)
	}
	return nil
}

// Impersonate makes every request the named user's, who is in the given groups.
func (p *Proxy) Impersonate(user string, groups ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.user, p.groups = user, groups
}

// Writes are the writes that were forwarded and answered, oldest first.
func (p *Proxy) Writes() []Write {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes)
}

// ServeHTTP handles one request of the manager.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := parse(r)
	if mutating(r.Method) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			cut()
		}
		req.Body = body
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	fault := p.faultFor(req)
	if fault.Before != nil {
		fault.Before(req)
	}
	if !wait(r.Context(), fault.Delay) || fault.LoseRequest {
		cut()
	}
	switch {
	case fault.Answer != nil:
		reply(w, http.Header{}, *fault.Answer)
	case mutating(r.Method) || fault.After != nil || fault.LoseAnswer:
		p.exchange(w, r, req, fault)
	case req.IsWatch():
		ctx, forget := p.watching(r.Context())
		defer forget()
		p.passing.ServeHTTP(w, r.WithContext(ctx))
	default:
		p.passing.ServeHTTP(w, r)
	}
}

// exchange forwards a request and takes the whole answer before it passes it on.
// It goes through even if the manager dies meanwhile, as it would once it has
// reached the API server.
func (p *Proxy) exchange(w http.ResponseWriter, r *http.Request, req Request, fault Fault) {
	answer, header, err := p.forward(r)
	if err != nil {
		cut()
	}
	if req.IsWrite() {
		p.mu.Lock()
		p.writes = append(p.writes, recordOf(req, answer))
		p.mu.Unlock()
	}
	if fault.After != nil {
		fault.After(req, answer)
	}
	if fault.LoseAnswer {
		cut()
	}
	reply(w, header, answer)
}

func (p *Proxy) forward(r *http.Request) (Answer, http.Header, error) {
	out := r.Clone(context.WithoutCancel(r.Context()))
	out.RequestURI = ""
	out.URL.Scheme, out.URL.Host, out.Host = p.upstream.Scheme, p.upstream.Host, p.upstream.Host
	out.Header.Del("Connection")
	p.rewrite(out)
	resp, err := p.transport.RoundTrip(out)
	if err != nil {
		return Answer{}, nil, fmt.Errorf("forward: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return Answer{}, nil, fmt.Errorf("read the answer: %w", err)
	}
	return Answer{Status: resp.StatusCode, Body: body}, resp.Header, nil
}

func (p *Proxy) rewrite(r *http.Request) {
	r.Header.Del("Accept-Encoding")
	r.Header.Del("X-Forwarded-For")
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.user == "" {
		return
	}
	r.Header.Set("Impersonate-User", p.user)
	r.Header.Del("Impersonate-Group")
	for _, group := range p.groups {
		r.Header.Add("Impersonate-Group", group)
	}
}

// cut ends the connection without an answer.
func cut() { panic(http.ErrAbortHandler) }

func reply(w http.ResponseWriter, header http.Header, a Answer) {
	for key, values := range header {
		if key != "Content-Length" && key != "Transfer-Encoding" {
			w.Header()[key] = values
		}
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	w.WriteHeader(a.Status)
	if _, err := w.Write(a.Body); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		cut()
	}
}

// wait returns false when the request ends before the time is over.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
