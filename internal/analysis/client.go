// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/internal/httpclient"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// timeout bounds one question, the connection included.
	timeout = 10 * time.Second
	// maxSeries is how many series are asked for: a second one is enough to refuse
	// the answer. Prometheus before 2.54 doesn't know the limit and sends all.
	maxSeries = 2
	// maxWords bounds what of a server's words is shown.
	maxWords = 300
)

// Options say where and how Prometheus is asked.
type Options struct {
	// URL is Prometheus' address, with the path that it is served below, if any.
	URL string
	// BearerTokenFile holds the token to ask with; empty for none.
	BearerTokenFile string
	// CAFile holds the certificates, in PEM, that Prometheus' own is checked
	// against; empty for those of the system.
	CAFile string
	// Clock measures how long an answer takes.
	Clock clock.PassiveClock
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
}

// Client asks one Prometheus, or what speaks its API. It is safe for concurrent use.
type Client struct {
	api     promv1.API
	clock   clock.PassiveClock
	metrics *metrics
}

// NewClient errs when the address or a file can't be used. It asks nothing yet.
func NewClient(o Options) (*Client, error) {
	if err := CheckURL(o.URL); err != nil {
		return nil, err
	}
	// Questions are minutes apart: a connection that was kept would most often be dead.
	inner, err := httpclient.New(httpclient.Options{
		Flags: "prometheus", BearerTokenFile: o.BearerTokenFile, CAFile: o.CAFile, FreshConnections: true})
	if err != nil {
		return nil, err
	}
	inner.Transport = bounded{inner.Transport}
	client, err := api.NewClient(api.Config{Address: o.URL, Client: inner})
	if err != nil {
		return nil, err
	}
	return &Client{api: promv1.NewAPI(client), clock: o.Clock, metrics: newMetrics(o.Registerer)}, nil
}

// Sample asks for the query's value now. It errs unless the answer is exactly
// one finite number. The error says nothing of what Prometheus holds besides: who
// writes the query reads it, and the token is the manager's. Warnings, and
// Prometheus' own words, are logged.
func (c *Client) Sample(ctx context.Context, query string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := c.clock.Now()
	// The zero time is the server's own now: our clock may differ from its.
	value, warnings, err := c.api.Query(ctx, query, time.Time{}, promv1.WithTimeout(timeout),
		promv1.WithLimit(maxSeries))
	c.metrics.observe(c.clock.Since(began), err)
	if len(warnings) > 0 {
		log.FromContext(ctx).Info("Prometheus warns", "query", query, "warnings", warnings)
	}
	if err != nil {
		log.FromContext(ctx).Info("Prometheus gave no answer", "query", query, "error", err.Error())
		return 0, explain(err)
	}
	return single(value)
}

// explain says whose failure it is: no answer, a refusal, or none to ask. Words of
// the server's are shown of one sort only, that which is about the query's text:
// others name series and their labels, or repeat part of an answer.
func explain(err error) error {
	var refused *promv1.Error
	var address *url.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("ask Prometheus: no answer within %s: %w", timeout, context.DeadlineExceeded)
	case errors.As(err, &tooLarge):
		return errors.New(
			"ask Prometheus: the answer is too large: aggregate the query to exactly one series, for example by sum()")
	case errors.As(err, &refused) && refused.Type == promv1.ErrBadData:
		return fmt.Errorf("ask Prometheus: it refused the query: %s",
			prose.Shorten(strings.ToValidUTF8(refused.Msg, ""), maxWords))
	case errors.As(err, &refused):
		return fmt.Errorf("ask Prometheus: it could not evaluate the query (%s): the manager's log has its words",
			kindOf(refused))
	case errors.As(err, &address):
		return fmt.Errorf("ask Prometheus: %w", err)
	default:
		return errors.New(
			"ask Prometheus: the answer isn't one of its API: check the address; the manager's log has more")
	}
}

// kindOf is a sort of refusal that is known, so that nothing else is repeated.
func kindOf(refused *promv1.Error) string {
	switch refused.Type {
	case promv1.ErrServer, promv1.ErrClient:
		var status int
		if _, err := fmt.Sscanf(refused.Msg, strings.TrimSuffix(string(refused.Type), "_error")+" error: %d",
			&status); err != nil {
			return string(refused.Type)
		}
		return fmt.Sprintf("%s %d", refused.Type, status)
	case promv1.ErrTimeout, promv1.ErrCanceled, promv1.ErrExec, promv1.ErrBadResponse:
		return string(refused.Type)
	default:
		return "unknown"
	}
}

// single is the only number of an answer.
func single(value model.Value) (float64, error) {
	switch v := value.(type) {
	case *model.Scalar:
		return finite(float64(v.Value))
	case model.Vector:
		switch {
		case len(v) == 0:
			return 0, errors.New("the query answered no data: it must answer exactly one series")
		case len(v) > 1:
			return 0, errors.New("the query answered several series: aggregate it to exactly one, for example by sum()")
		case v[0].Histogram != nil:
			return 0, errors.New(
				"the query answered a histogram: make it one number, for example by histogram_quantile()")
		}
		return finite(float64(v[0].Value))
	default:
		return 0, fmt.Errorf("the query answered a %s: it must answer exactly one sample", value.Type())
	}
}

func finite(f float64) (float64, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("the query answered %v, which says nothing: a ratio with nothing below the line, perhaps",
			f)
	}
	return f, nil
}
