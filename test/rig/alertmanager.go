// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/test/process"
)

// Alertmanager is a real Alertmanager. It belongs to no cluster of its own kind.
type Alertmanager struct {
	*process.Daemon
	// URL is where it is reached, the same after each start.
	URL string
}

// StartAlertmanager starts an Alertmanager with the given configuration file and
// waits until it is ready; it ends with the spec, or with the suite.
func (r *Rig) StartAlertmanager(ctx context.Context, config string) *Alertmanager {
	GinkgoHelper()
	daemon, url := r.NewDaemon(ctx, "prometheus-alertmanager", "/-/ready",
		map[string]string{"alertmanager.yml": config},
		func(dir string, port, _ int) []string {
			return []string{
				"--config.file=" + filepath.Join(dir, "alertmanager.yml"),
				"--storage.path=" + filepath.Join(dir, "data"),
				fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port),
				"--cluster.listen-address=", // no gossip
			}
		})
	Expect(daemon.Start(ctx)).To(Succeed())
	return &Alertmanager{Daemon: daemon, URL: url}
}

// Forget removes all that it has stored. It must not run meanwhile.
func (a *Alertmanager) Forget() error {
	return os.RemoveAll(filepath.Join(filepath.Dir(a.Log()), "data"))
}

// Alert is an alert as Alertmanager's API and its notifications tell it.
type Alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// HeldAlert is an alert that an Alertmanager holds.
type HeldAlert struct {
	Alert
	Status struct {
		State       string   `json:"state"`
		SilencedBy  []string `json:"silencedBy"`
		InhibitedBy []string `json:"inhibitedBy"`
	} `json:"status"`
}

// Alerts are those that fire and have the labels given, written as label="value".
func (a *Alertmanager) Alerts(ctx context.Context, matchers ...string) ([]HeldAlert, error) {
	at := a.URL + "/api/v2/alerts?" + url.Values{"filter": matchers}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var alerts []HeldAlert
	return alerts, json.NewDecoder(response.Body).Decode(&alerts)
}

// Silence silences the alerts that have a label, for an hour.
func (a *Alertmanager) Silence(ctx context.Context, label, value string) {
	GinkgoHelper()
	now := time.Now()
	body, err := json.Marshal(map[string]any{
		"matchers": []map[string]any{{"name": label, "value": value, "isRegex": false, "isEqual": true}},
		"startsAt": now, "endsAt": now.Add(time.Hour), "createdBy": "a spec", "comment": "known",
	})
	Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL+"/api/v2/silences", bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	Expect(response.StatusCode).To(Equal(http.StatusOK))
}

// Notification is one alert as a receiver was told of it.
type Notification struct {
	Alert
	// Receiver is whom it was sent to, and Status is firing or resolved.
	Receiver string `json:"-"`
	Status   string `json:"status"`
	// At is when it came.
	At time.Time `json:"-"`
}

// Inbox takes what an Alertmanager sends to its webhook receivers, each at a path
// with the receiver's name.
type Inbox struct {
	// URL is what receivers' addresses begin with.
	URL string

	mu       sync.Mutex
	received []Notification
}

// NewInbox opens an inbox, which ends with the spec, or with the suite.
func NewInbox() *Inbox {
	inbox := &Inbox{}
	server := httptest.NewServer(inbox)
	DeferCleanup(server.Close)
	inbox.URL = server.URL
	return inbox
}

// ServeHTTP takes one message, which may tell of several alerts.
func (i *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var message struct {
		Alerts []Notification `json:"alerts"`
	}
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, n := range message.Alerts {
		n.Receiver, n.At = strings.TrimPrefix(r.URL.Path, "/"), time.Now()
		i.received = append(i.received, n)
	}
}

// Of are the notifications with a status about an alert that has all the labels.
func (i *Inbox) Of(status string, labels map[string]string) []Notification {
	i.mu.Lock()
	defer i.mu.Unlock()
	var found []Notification
	for _, n := range i.received {
		fits := n.Status == status
		for name, value := range labels {
			fits = fits && n.Labels[name] == value
		}
		if fits {
			found = append(found, n)
		}
	}
	return found
}
