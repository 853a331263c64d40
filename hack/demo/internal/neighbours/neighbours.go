// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Share is the share of the shop's requests that fail at this moment, 0 to 1.
type Share func(context.Context) (float64, error)

// Notification is what Alertmanager tells somebody about one alert.
type Notification struct {
	// To is the receiver that the routing tree has chosen.
	To string
	// Status is firing or resolved.
	Status string
	// Alert is the alert's name, Policy and Owner its labels.
	Alert, Policy, Owner string
	// Summary and Runbook are its annotations.
	Summary, Runbook string
	// Starts is since when it has been due.
	Starts time.Time
}

// Neighbours is an HTTP server: /metrics is the shop's, and /notify/NAME the
// receiver NAME of Alertmanager.
type Neighbours struct {
	// Address is where it listens, as host:port.
	Address string

	server *http.Server
	share  Share

	mu   sync.Mutex
	told []Notification
}

// Start listens on the loopback.
func Start(share Share) (*Neighbours, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for Prometheus and Alertmanager: %w", err)
	}
	n := &Neighbours{Address: listener.Addr().String(), share: share}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", n.metrics)
	mux.HandleFunc("POST /notify/{name}", n.notify)
	n.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = n.server.Serve(listener) }() // ends with Stop, without news
	return n, nil
}

// Stop ends the server.
func (n *Neighbours) Stop() error { return n.server.Close() }

func (n *Neighbours) metrics(w http.ResponseWriter, r *http.Request) {
	share, err := n.share(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprintf(w, "# TYPE shop_failed_requests_ratio gauge\nshop_failed_requests_ratio %g\n", share)
}

// notify takes a notification in Alertmanager's webhook format.
func (n *Neighbours) notify(w http.ResponseWriter, r *http.Request) {
	var message struct {
		Alerts []struct {
			Status              string
			Labels, Annotations map[string]string
			StartsAt            time.Time
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range message.Alerts {
		n.told = append(n.told, Notification{To: r.PathValue("name"), Status: a.Status, Alert: a.Labels["alertname"],
			Policy: a.Labels["policy"],
			Owner:  a.Labels["owner"], Summary: a.Annotations["summary"], Runbook: a.Annotations["runbook_url"],
			Starts: a.StartsAt})
	}
}

// Told is what anybody was told of an alert about a policy, oldest first.
func (n *Neighbours) Told(alert, policy string) []Notification {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []Notification
	for _, t := range n.told {
		if t.Alert == alert && t.Policy == policy {
			out = append(out, t)
		}
	}
	return out
}
