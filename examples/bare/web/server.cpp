// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "server.hpp"

#include <freehca/bare/typed_line.hpp>

namespace freehca::bare::web {

namespace {

// lwIP's poll callback runs each 2 s. A connection on which nothing moves ends after 30 s.
constexpr u8_t poll_half_seconds = 4;
constexpr unsigned most_idle_polls = 15;
constexpr std::size_t most_written = 4 * TCP_MSS;  // at once

void detach(tcp_pcb* pcb) {
  tcp_arg(pcb, nullptr);
  tcp_recv(pcb, nullptr);
  tcp_sent(pcb, nullptr);
  tcp_err(pcb, nullptr);
  tcp_poll(pcb, nullptr, 0);
}

}  // namespace

status server::start(std::uint16_t port, const std::byte* page, write_facts facts, void* context) {
  page_ = page;
  facts_ = facts;
  context_ = context;
  tcp_pcb* const bound = tcp_new();
  if (bound == nullptr) return driver_error::no_memory;
  const err_t error = tcp_bind(bound, IP_ADDR_ANY, port);
  if (error == ERR_OK) listener_ = tcp_listen(bound);
  if (listener_ == nullptr) {
    static_cast<void>(tcp_close(bound));
    return error == ERR_OK ? driver_error::no_memory : driver_error::busy;
  }
  tcp_arg(listener_, this);
  tcp_accept(listener_, &accepted);
  return {};
}

void server::stop() {
  if (listener_ != nullptr) static_cast<void>(tcp_close(listener_));
  listener_ = nullptr;
  for (connection& c : connections_) {
    if (c.is != state::unused) static_cast<void>(abort(c));
  }
}

err_t server::accepted(void* self, tcp_pcb* pcb, err_t error) {
  server& s = *static_cast<server*>(self);
  if (error != ERR_OK) return error;
  for (connection& c : s.connections_) {
    if (c.is != state::unused) continue;
    c = {.owner = &s, .pcb = pcb, .is = state::reading};
    attach(c);
    ++s.counters_.connections;
    return ERR_OK;
  }
  return ERR_MEM;
}

err_t server::received(void* argument, tcp_pcb* pcb, pbuf* data, err_t) {
  connection& c = *static_cast<connection*>(argument);
  server& s = *c.owner;
  c.idle = 0;
  if (data == nullptr) {
    // The client sends no more. If it has sent a request, it still gets the answer.
    if (c.is == state::reading) return s.abort(c);
    return ERR_OK;
  }
  tcp_recved(pcb, data->tot_len);
  bool sound = true;
  for (const pbuf* p = data; p != nullptr && c.is == state::reading; p = p->next)
    if (s.read(c, static_cast<const char*>(p->payload), p->len)) sound = s.answer(c);
  pbuf_free(data);
  if (!sound) return s.abort(c);
  return ERR_OK;
}

/// Returns true if the request has ended: with an empty line (RFC 1945, 5).
bool server::read(connection& c, const char* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const char b = bytes[i];
    if (b == '\r') continue;
    if (b == '\n') {
      if (c.line_ended && c.empty_line) return true;
      c.line_ended = c.empty_line = true;
      continue;
    }
    c.empty_line = false;
    if (!c.line_ended && c.line_length < most_line) c.line[c.line_length++] = b;
  }
  return false;
}

/// Queues the head of the answer and a text. The page is queued by send(). Returns false if lwIP
/// has no room for them.
bool server::answer(connection& c) {
  c.line[c.line_length] = '\0';
  c.is = state::sending;
  char text[1000];
  text_writer body(text);
  words of(c.line);
  const bool head = of.take("HEAD");
  const char* outcome = "200 OK";
  bool page = false;
  if (!head && !of.take("GET")) outcome = "501 Not Implemented";
  else if (of.take("/page")) page = true;
  else if (of.take("/")) facts_(context_, body);
  else outcome = "404 Not Found";
  if (outcome[0] != '2') {
    ++counters_.errors;
    body << outcome << "\n";
  }
  char start[200];
  text_writer to(start);
  to << "HTTP/1.0 " << outcome
     << "\r\nContent-Type: " << (page ? "application/octet-stream" : "text/plain")
     << "\r\nContent-Length: ";
  to.decimal(page ? page_bytes : body.length()) << "\r\nConnection: close\r\n\r\n";
  if (!copy(c, to)) return false;
  if (page) {
    c.rest = page_;
    c.rest_bytes = head ? 0 : page_bytes;
  } else if (!head && !copy(c, body)) {
    return false;
  }
  send(c);
  return true;
}

bool server::copy(connection& c, const text_writer& text) {
  const auto bytes = static_cast<u16_t>(text.length());
  return tcp_write(c.pcb, text.text(), bytes, TCP_WRITE_FLAG_COPY) == ERR_OK;
}

/// Queues as much of the page as lwIP takes, without a copy. Closes the connection once the client
/// has acknowledged the last byte. If lwIP closed it in received(), it would answer a request that
/// comes with the client's FIN by a reset (lwIP 2.1.3 tcp_close_shutdown). What fails for
/// lack of room is repeated when bytes are acknowledged, or by polled().
void server::send(connection& c) {
  while (c.rest_bytes != 0) {
    std::size_t bytes = tcp_sndbuf(c.pcb);
    if (bytes > most_written) bytes = most_written;
    if (bytes > c.rest_bytes) bytes = c.rest_bytes;
    const u8_t more = bytes < c.rest_bytes ? TCP_WRITE_FLAG_MORE : 0;
    if (bytes == 0 || tcp_write(c.pcb, c.rest, static_cast<u16_t>(bytes), more) != ERR_OK) return;
    c.rest += bytes;
    c.rest_bytes -= bytes;
    counters_.bytes += bytes;
  }
  if (tcp_sndqueuelen(c.pcb) != 0) return;
  close(c);
  if (c.is == state::unused) ++counters_.answers;
}

void server::close(connection& c) {
  detach(c.pcb);
  if (tcp_close(c.pcb) == ERR_OK) c.is = state::unused;
  else attach(c);
}

err_t server::abort(connection& c) {
  ++counters_.broken;
  c.is = state::unused;
  detach(c.pcb);
  tcp_abort(c.pcb);
  return ERR_ABRT;
}

err_t server::acknowledged(void* argument, tcp_pcb*, std::uint16_t) {
  connection& c = *static_cast<connection*>(argument);
  c.idle = 0;
  if (c.is == state::sending) c.owner->send(c);
  return ERR_OK;
}

err_t server::polled(void* argument, tcp_pcb*) {
  connection& c = *static_cast<connection*>(argument);
  if (++c.idle > most_idle_polls) return c.owner->abort(c);
  if (c.is == state::sending) c.owner->send(c);
  return ERR_OK;
}

/// lwIP has freed the connection, because the client has reset it, or because it does not answer.
void server::broke(void* argument, err_t) {
  connection& c = *static_cast<connection*>(argument);
  ++c.owner->counters_.broken;
  c.is = state::unused;
}

void server::attach(connection& c) {
  tcp_arg(c.pcb, &c);
  tcp_recv(c.pcb, &received);
  tcp_sent(c.pcb, &acknowledged);
  tcp_err(c.pcb, &broke);
  tcp_poll(c.pcb, &polled, poll_half_seconds);
}

}  // namespace freehca::bare::web
