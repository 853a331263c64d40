// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	clocktesting "k8s.io/utils/clock/testing"
)

// dialFrom connects from an address of the loopback.
func dialFrom(t *testing.T, from string, to net.Addr) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// closedByPeer says whether the other side closes a connection in that time.
func closedByPeer(t *testing.T, conn net.Conn, within time.Duration) bool {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

func TestOneAddressCannotTakeAllConnections(t *testing.T) {
	inner, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newListener(inner)
	l.limit, l.each = 16, 8
	t.Cleanup(func() { _ = l.Close() })
	accepted := make(chan net.Conn, 1000)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	var flood []net.Conn
	for _, from := range []string{"127.0.0.2", "127.0.0.3"} {
		for range l.each {
			flood = append(flood, dialFrom(t, from, inner.Addr()))
			<-accepted
		}
	}
	if !closedByPeer(t, dialFrom(t, "127.0.0.2", inner.Addr()), time.Minute) {
		t.Error("an address has more connections than it may")
	}
	server := dialFrom(t, "127.0.0.9", inner.Addr())
	<-accepted
	if closedByPeer(t, server, 10*time.Millisecond) {
		t.Error("whoever has no connection gets one")
	}
	evicted := 0
	for _, conn := range flood {
		if closedByPeer(t, conn, 10*time.Millisecond) {
			evicted++
		}
	}
	if evicted != 1 {
		t.Errorf("%d connections made room for one", evicted)
	}
}

// Two addresses that take all connections can't keep a third at the one that it had: it
// gets as many as they have.
func TestAddressesShareConnectionsEvenly(t *testing.T) {
	l := newListener(nil)
	l.limit, l.each = 12, 8
	take := func(peer string) bool {
		admitted, evicted := l.admit(&connection{peer: peer, of: l})
		if evicted != nil {
			l.closed(evicted)
		}
		return admitted
	}
	for range 8 {
		take("a")
		take("b")
	}
	got := 0
	for range 8 {
		if take("api server") {
			got++
		}
	}
	if got != 4 || len(l.open["a"]) != 4 || len(l.open["b"]) != 4 || l.all != 12 {
		t.Errorf("of 12 connections the third address has %d beside %d and %d", got, len(l.open["a"]), len(l.open["b"]))
	}
	if take("a") || take("b") {
		t.Error("whoever has their share gets another's")
	}
}

func TestLogLinesAreBounded(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	var said []string
	log := (&Quiet{Clock: clock}).Logger(funcr.New(func(_, line string) {
		said = append(said, line)
	}, funcr.Options{})).WithName("webhook").WithValues("replica", "a")
	for range 50 {
		log.Info("turned away")
		log.Error(errors.New("broken"), "unanswered")
	}
	if len(said) != quietLines {
		t.Errorf("%d lines, want %d", len(said), quietLines)
	}
	clock.SetTime(clock.Now().Add(quietPeriod))
	log.Info("turned away")
	if last := said[len(said)-1]; len(said) != quietLines+1 || !strings.Contains(last, `"unsaid"=90`) ||
		!strings.Contains(last, `"replica"="a"`) {
		t.Errorf("%d lines, the last %s", len(said), last)
	}
}
