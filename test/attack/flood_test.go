// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/test/fixture"
)

// peak is the most memory that a process has had, in bytes.
func peak(pid int) int64 {
	GinkgoHelper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	Expect(err).NotTo(HaveOccurred())
	_, rest, found := strings.Cut(string(text), "VmHWM:")
	Expect(found).To(BeTrue())
	var kilobytes int64
	_, err = fmt.Sscanf(rest, "%d kB", &kilobytes)
	Expect(err).NotTo(HaveOccurred())
	return kilobytes << 10
}

// webhookURL is where the API server calls the endpoint that fails open.
func webhookURL(ctx context.Context) string {
	GinkgoHelper()
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel"}}
	Expect(suite.Get(ctx, config)).To(Succeed())
	for _, hook := range config.Webhooks {
		if hook.Name == "ignore.evenkeel.dev" {
			return *hook.ClientConfig.URL
		}
	}
	Fail("there is no entry that fails open")
	return ""
}

// stranger posts to the webhook past the API server, from an address of its own, with
// the certificates that it has.
func stranger(certificates ...tls.Certificate) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, "tcp4", "127.0.0.1:"+port)
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}, ForceAttemptHTTP2: true,
	}}
}

// costly is a review of many values.
func costly(namespace string, size int) []byte {
	return []byte(
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","kind":{"group":"","version":"v1","kind":"ConfigMap"},` +
			`"resource":{"group":"","version":"v1","resource":"configmaps"},"name":"a","namespace":"` + namespace +
			`","operation":"CREATE","userInfo":{"username":"made up"},` +
			`"object":{"data":[` + strings.Repeat(`{"":0},`, size/7) + `0]},"oldObject":null}}`)
}

// deployment is a Deployment of so many environment variables, as JSON.
func deployment(namespace string, variables int) []byte {
	var env bytes.Buffer
	for i := range variables {
		fmt.Fprintf(&env, `,{"name":"A%d"}`, i)
	}
	return []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"large","namespace":"` + namespace +
		`","labels":{"fixture":"target"}},` +
		`"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[` +
		`{"name":"a","image":"a","securityContext":{"privileged":true},"env":[` + env.String()[1:] + `]}]}}}}`)
}

// tries creates the Deployment as a dry run, in a user's name.
func tries(ctx context.Context, user, namespace string, body []byte) error {
	config := suite.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil
	}
	return api.RESTClient().Post().AbsPath("/apis/apps/v1/namespaces/"+namespace+"/deployments").Timeout(
		time.Minute).MaxRetries(2).
		Param("dryRun", metav1.DryRunAll).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx).Error()
}

var _ = Describe("A flood", func() {
	It("of large objects and of strangers' posts stays within the memory limit, lets no violation in and starves "+
		"nobody", Serial, func(ctx context.Context) {
		attempt(
			"six dry-run Deployments each of 3 MB, 1 MB and 60 KB at once, and twelve posts of 7.8 MB past the server")
		limit := suite.ShipLimits()
		namespace := suite.Namespace(ctx, "flood")
		suite.CreatePolicy(ctx, failingOpen(namespace, fixture.DenyState("bad"), fixture.Kinds("", "ConfigMap")))
		deployments := suite.Namespace(ctx, "flood-deployments")
		suite.CreatePolicy(ctx,
			failingOpen(deployments, strings.Replace(noPrivilege, "input.object.spec.privileged",
				"input.pod.spec.containers[_].securityContext.privileged", 1),
				fixture.Kinds("apps", "Deployment")))
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "before"), ContainSubstring("refused by policy "+namespace))
		Eventually(ctx, func() error {
			return tries(ctx, "mallory", deployments, deployment(deployments, 3))
		}).Should(MatchError(ContainSubstring("refused by policy")))
		pid, url := manager.PID(), webhookURL(ctx)
		// The API server goes on with what nobody waits for any more, too busy itself to
		// wait for webhooks in the specs that follow.
		DeferCleanup(func(ctx context.Context) {
			Expect(suite.Component(ctx, "restart", "kube-apiserver")).To(Succeed())
			suite.AwaitAdmission(ctx)
		})

		var flood sync.WaitGroup
		var passed atomic.Int64
		for i, variables := range []int{170_000, 55_000, 4_000} {
			body := deployment(deployments, variables)
			for n := range 6 {
				flood.Go(func() {
					if tries(ctx, fmt.Sprintf("mallory-%d-%d", i, n), deployments, body) == nil {
						passed.Add(1)
					}
				})
			}
		}
		// With the API server's certificate: the bounds must hold though it was stolen.
		posting, body := stranger(apiServersCertificate()), costly(namespace, 7_800_000)
		for range 12 {
			flood.Go(func() {
				if answer, err := posting.Post(url, "application/json", bytes.NewReader(body)); err == nil {
					_ = answer.Body.Close()
				}
			})
		}
		ended := make(chan struct{})
		go func() { flood.Wait(); close(ended) }()

		asked, judged := 0, 0
		for going := true; going; asked++ {
			select {
			case <-ended:
				going = false
			default:
			}
			err := suite.API.Create(ctx, fixture.ConfigMap(namespace, "other"), client.DryRunAll)
			Expect(err).To(MatchError(
				Or(ContainSubstring("refused by policy "+namespace), ContainSubstring("policy "+namespace))),
				"a violation of somebody else passes")
			if strings.Contains(err.Error(), "refused by policy") {
				judged++
			}
		}
		Expect(passed.Load()).To(BeZero(), "violations of the flood passed")
		Expect(judged).To(BeNumerically(">=", max(1, asked*9/10)), "of %d requests of somebody else", asked)
		Expect(manager.Running()).To(BeTrue())
		Expect(manager.PID()).To(Equal(pid), "it has been started again")
		GinkgoWriter.Printf("peak %d MiB of %d, %d of %d judged\n", peak(pid)>>20, limit>>20, judged, asked)
		Expect(peak(pid)).To(BeNumerically("<", limit))
	})
})
