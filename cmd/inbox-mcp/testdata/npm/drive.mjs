// Drives all tools with the official clients, over stdio and over HTTP, and checks every result through the
// API, too. The clients validate each structured result against the schema of its tool.
import assert from 'node:assert/strict';
import net from 'node:net';
import test from 'node:test';

import { Client as NewClient, StreamableHTTPClientTransport as NewHTTP } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHTTP } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const { NEAR, NEAR_KEY, NEAR_SMTP, FAR, FAR_KEY, MCP, MCP_URL } = process.env;
const names = process.env.TOOLS.split(',');

// api makes a call with a key and returns status and body.
async function api(base, key, method, path, body) {
  const answer = await fetch(base + '/api/v1' + path, {
    method,
    headers: { 'X-API-Key': key },
    body: body && JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json() };
}
const near = (method, path, body) => api(NEAR, NEAR_KEY, method, path, body);
const far = (method, path, body) => api(FAR, FAR_KEY, method, path, body);
const created = async (where) => (await where('POST', '/inboxes')).body.address;
const message = async (address, id) => (await near('GET', `/inboxes/${address}/messages/${id}`)).body.email;

// mail sends a message by SMTP (RFC 5321).
async function mail(from, to, lines) {
  const [host, port] = NEAR_SMTP.split(':');
  const socket = net.connect(Number(port), host);
  const replies = (async function* () {
    let text = '';
    for await (const chunk of socket) {
      text += chunk;
      for (let end; (end = text.indexOf('\r\n')) >= 0; text = text.slice(end + 2)) {
        const line = text.slice(0, end);
        if (line[3] !== '-') yield line;
      }
    }
  })();
  const hears = async (code) => assert.match((await replies.next()).value, new RegExp('^' + code));
  await hears(220);
  const data = ['From: Shop <' + from + '>', 'To: ' + to, ...lines, '.', ''].join('\r\n');
  for (const [line, code] of [['HELO shop.test', 250], [`MAIL FROM:<${from}>`, 250], [`RCPT TO:<${to}>`, 250], ['DATA', 354], [data.trimEnd(), 250], ['QUIT', 221]]) {
    socket.write(line + '\r\n');
    await hears(code);
  }
  socket.end();
}

// text returns the text of a result, which a model reads.
const text = (result) => {
  assert.equal(result.content.length, 1);
  assert.equal(result.content[0].type, 'text');
  return result.content[0].text;
};

// story uses every tool at least once.
async function story(client) {
  const used = new Set();
  const call = async (name, args) => {
    used.add(name);
    const result = await client.callTool({ name, arguments: args });
    assert.ok(!result.isError, name + ': ' + result.content?.[0]?.text);
    assert.throws(() => JSON.parse(text(result)), name + ': the text is for models, no copy of the structure');
    return { ...result.structuredContent, said: text(result) };
  };
  const refused = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError, true, name);
    return text(result);
  };

  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name).sort(), [...names].sort());
  for (const tool of tools) {
    const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = tool.annotations;
    for (const hint of [readOnlyHint, destructiveHint, idempotentHint, openWorldHint]) assert.equal(typeof hint, 'boolean', tool.name);
  }

  // An inbox, and a code that arrives while a client waits for it.
  const { address } = await call('create_inbox', { label: 'Driven' });
  assert.equal((await near('GET', '/inboxes/' + address)).body.inbox.label, 'Driven');
  assert.ok((await call('list_inboxes', {})).inboxes.some((inbox) => inbox.address === address));
  const waiting = call('wait_for_otp', { address, timeout: 20 });
  await mail('no-reply@shop.test', address, ['Subject: Your sign-in code', 'Message-ID: <code@shop.test>', '', 'Your verification code is 482913.']);
  const code = await waiting;
  assert.equal(code.otp_code, '482913');
  assert.match(code.said, /482913/);
  assert.equal((await message(address, code.message.id)).is_read, true);
  const none = await call('wait_for_otp', { address, timeout: 0 });
  assert.equal(none.timed_out, true);
  assert.equal(none.last_code.message_id, code.message.id);

  // A message, a reply to it, and the delivery of the reply.
  const person = await created(far);
  await mail(person, address, ['Subject: Lunch', 'Message-ID: <lunch@far.test>', 'References: <older@far.test>', '', 'Tuesday?']);
  const { message: lunch } = await call('wait_for_message', { address, timeout: 20 });
  assert.equal(lunch.subject, 'Lunch');
  const answer = await call('reply', { address, message_id: lunch.id, body: 'Yes.' });
  assert.equal(answer.to, person);
  const settled = await call('wait_until_sent', { address, message_id: answer.message_id, timeout: 50 });
  assert.equal(settled.send_status, 'sent', JSON.stringify(settled));
  assert.equal((await message(address, answer.message_id)).send_status, 'sent');
  const arrived = (await far('GET', `/inboxes/${person}/latest?wait=20`)).body.email;
  assert.equal(arrived.subject, 'Re: Lunch');
  assert.equal(arrived.in_reply_to, 'lunch@far.test');
  assert.deepEqual(arrived.references, ['older@far.test', 'lunch@far.test']);
  assert.equal(arrived.body.trim(), 'Yes.');

  const letter = await call('send_email', { address, to: person, subject: 'Hello', body: 'Text', html: '<p>Text</p>', cc: [], bcc: [] });
  const hello = (await far('GET', `/inboxes/${person}/latest?wait=20&after=${arrived.id}`)).body.email;
  assert.equal(hello.subject, 'Hello');
  assert.match(hello.html, /<p>Text/);
  const sent = await call('read_messages', { address, direction: 'out' });
  assert.deepEqual(sent.messages.map((m) => m.id), [letter.message_id, answer.message_id]);

  // Reading changes nothing; marking and deleting do.
  await mail('no-reply@shop.test', address, ['Subject: News', '', 'Some words.']);
  await near('GET', `/inboxes/${address}/latest?wait=20&after=${lunch.id}`);
  const read = await call('read_messages', { address });
  assert.deepEqual(read.messages.map((m) => [m.subject, m.is_read]), [['News', false], ['Lunch', true], ['Your sign-in code', true]]);
  const news = read.messages[0];
  assert.equal(news.body.trim(), 'Some words.');
  assert.equal((await call('mark_read', { address, message_id: news.id })).ok, true);
  assert.equal((await message(address, news.id)).is_read, true);
  assert.equal((await call('delete_message', { address, message_id: news.id })).ok, true);
  assert.equal((await near('GET', `/inboxes/${address}/messages/${news.id}`)).status, 404);

  // A meeting from its invitation to its end.
  const guest = await created(near);
  const meeting = await call('create_calendar_event', {
    address, title: 'Review', start: '2027-03-01T15:00', timezone: 'Europe/Berlin', duration_minutes: 45, attendees: [{ email: guest, name: 'Guest' }],
  });
  const events = `/inboxes/${address}/calendar/events/`;
  assert.equal((await near('GET', events + meeting.event.id)).body.event.end, '2027-03-01T14:45:00.000Z');
  const invitation = (await near('GET', `/inboxes/${guest}/latest?wait=20`)).body.email.calendar_event;
  assert.equal((await call('list_calendar_events', { address: guest })).events[0].my_status, 'needs-action');
  const accepted = await call('rsvp_to_invite', { address: guest, event_id: invitation.event_id, response: 'accepted', comment: 'Gladly' });
  assert.equal(accepted.event.my_status, 'accepted');
  assert.equal((await near('GET', `/inboxes/${guest}/calendar/events/${invitation.event_id}`)).body.event.my_status, 'accepted');
  const moved = await call('update_calendar_event', { address, event_id: meeting.event.id, start: '2027-03-02T15:00', timezone: 'Europe/Berlin' });
  assert.equal(moved.event.start, '2027-03-02T14:00:00.000Z');
  await call('cancel_calendar_event', { address, event_id: meeting.event.id, message: 'Sorry' });
  assert.equal((await near('GET', events + meeting.event.id)).body.event.status, 'cancelled');
  assert.deepEqual((await call('list_calendar_events', { address })).events, []);
  assert.equal((await call('list_calendar_events', { address, include_cancelled: true })).events.length, 1);

  const feed = await call('get_calendar_feed', { address });
  assert.equal((await call('get_calendar_feed', { address })).feed_url, feed.feed_url);
  assert.match(await (await fetch(feed.feed_url)).text(), /^BEGIN:VCALENDAR/);
  const rotated = await call('rotate_calendar_feed', { address });
  assert.equal((await fetch(feed.feed_url)).status, 404);
  assert.equal((await fetch(rotated.feed_url)).status, 200);

  // Errors reach the model in the API's words.
  assert.match(await refused('send_email', { address }), /'to' is required/);
  assert.match(await refused('read_messages', { address, direction: 'up' }), /'direction' must be one of in, out, all/);
  assert.equal(await refused('read_messages', { address: 'nobody@inbox.localhost' }), 'No inbox nobody@inbox.localhost for this API key');
  await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), (error) => error.code === -32602);

  assert.ok((await call('burn_inbox', { address })).deleted >= 2);
  assert.deepEqual((await near('GET', `/inboxes/${address}/messages?direction=all`)).body.emails, []);
  assert.equal((await call('delete_inbox', { address })).ok, true);
  assert.equal((await near('GET', '/inboxes/' + address)).status, 403);
  assert.deepEqual([...used].sort(), [...names].sort());
}

// patience: a wait sends progress notifications, and ends when the client cancels it. The old client over HTTP
// cancels with a notification, which a server without sessions cannot assign, so it must disconnect.
async function patience(client, old, patient, give) {
  const address = await created(near);
  const request = { name: 'wait_for_message', arguments: { address, timeout: 30 } };
  const wanted = new AbortController();
  const told = [];
  const stop = give ?? (() => wanted.abort());
  const options = { signal: wanted.signal, onprogress: (progress) => { told.push(progress); stop(); } };
  await assert.rejects(old ? patient.callTool(request, undefined, options) : patient.callTool(request, options));
  assert.equal(told.length, 1);
  assert.equal(typeof told[0].message, 'string');
  // The next call works, and the message that arrived after the end is not lost.
  await mail('no-reply@shop.test', address, ['Subject: Later', '', 'x']);
  const next = await client.callTool({ name: 'wait_for_message', arguments: { address, timeout: 20 } });
  assert.equal(next.structuredContent.message.subject, 'Later');
}

const server = { command: MCP, args: ['--base-url', NEAR], env: { INBOX_API_KEY: NEAR_KEY }, stderr: 'inherit' };
const who = { name: 'driver', version: '1' };
const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' } } };
const auto = { versionNegotiation: { mode: 'auto' } };
for (const [title, client, transport, revision] of [
  ['client 2.4, stdio', new NewClient(who, auto), new NewStdio(server), '2026-07-28'],
  ['client 2.4, http', new NewClient(who, pinned), new NewHTTP(new URL(MCP_URL)), '2026-07-28'],
  ['sdk 1.32, stdio', new OldClient(who), new OldStdio(server), '2025-11-25'],
  ['sdk 1.32, http', new OldClient(who), new OldHTTP(new URL(MCP_URL)), '2025-11-25'],
]) {
  test(title, { timeout: 60_000 }, async (t) => {
    await client.connect(transport);
    t.after(() => client.close());
    const spoken = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? transport._protocolVersion;
    if (spoken) assert.equal(spoken, revision);
    assert.match(client.getInstructions(), /wait_for_otp/);
    await story(client);
    const old = client instanceof OldClient;
    if (!old || transport instanceof OldStdio) return patience(client, old, client);
    const other = new OldClient(who);
    await other.connect(new OldHTTP(new URL(MCP_URL)));
    await patience(client, old, other, () => other.close());
  });
}
