module evenkeel.dev/evenkeel/hack/bench

go 1.26.0
