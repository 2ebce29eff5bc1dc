// control.go -- asks a server in test mode for what the client cannot.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

type control struct{ endpoint string }

func (c control) ask(method, route string, value object) object {
	date := time.Now().UTC().Format(http.TimeFormat)
	mac := hmac.New(sha256.New, must(base64.StdEncoding.DecodeString(key)))
	fmt.Fprintf(mac, "%s\n\n_runnel/%s\n%s\n\n", strings.ToLower(method), route,
		strings.ToLower(date))
	text := []byte{}
	if value != nil {
		text = body(value)
	}
	request := must(http.NewRequest(method,
		strings.TrimRight(c.endpoint, "/")+"/_runnel/"+route, bytes.NewReader(text)))
	request.Header.Set("authorization", url.QueryEscape("type=master&ver=1.0&sig="+
		base64.StdEncoding.EncodeToString(mac.Sum(nil))))
	request.Header.Set("x-ms-date", date)
	request.Header.Set("x-ms-version", "2020-07-15")
	answer := must(http.DefaultClient.Do(request))
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		fail("%s %s: %s", method, route, answer.Status)
	}
	found := object{}
	if answer.StatusCode != http.StatusNoContent {
		must(0, json.NewDecoder(answer.Body).Decode(&found))
	}
	return found
}

func (c control) turnClock(seconds int) {
	c.ask("POST", "clock", object{"advanceMs": seconds * 1000})
}

// meets runs an operation that is to meet a fault, so many times.
func (c control) meets(times int, order object, run func()) {
	before := c.ask("GET", "fault", nil)
	equal(before["waiting"], any(0.0))
	order["count"] = times
	c.ask("POST", "fault", order)
	defer c.ask("DELETE", "fault", nil)
	run()
	after := c.ask("GET", "fault", nil)
	equal(after["taken"].(float64)-before["taken"].(float64), float64(times))
}
