/**
 * The Lua scripts of the journal in Redis: each is one atomic step. The last key of each script that uses the index is the
 * index, and the names of the records begin with the same prefix.
 *
 * The index is one sorted set. All its members have the same score, so they are in order of their bytes:
 * - `s`, state, `createdAt`, key: to list by state.
 * - `r`, reference in lower case, `createdAt`, key: to list by reference.
 * - `d`, time by the clock of Redis, key: when the record is due.
 * - `m`: how far the search for records without an index is.
 *
 * A tab separates the parts, and times have 16 digits. The hash of each record has the field `index` with what the members
 * are made of, so that the next write removes the right ones: it is read and written together with the record.
 */

import { MAX_CLOCK_STEP } from './retention.ts';
import { MAX_DUE_IN } from './store.ts';

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/**
 * Returns version, text, and the age in milliseconds by the clock of Redis. A value without all of them is not the journal's
 * own, and is returned as a record that cannot be read.
 */
export const READ = `
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return false end
if kind ~= 'hash' then return {'', '', ''} end
local found = redis.call('HMGET', KEYS[1], 'version', 'record', 'written_at')
local written_at = tonumber(found[3])
if not (found[1] and found[2] and written_at) then return {'', '', ''} end
${NOW}
found[3] = tostring(now - written_at)
return found`;

/**
 * How the field `index` of a record becomes members of the index. The field begins with the length of the prefix: if the
 * prefix of one journal begins with that of another, each takes only its own records.
 */
const INDEX = String.raw`${NOW}
local zset = KEYS[#KEYS]
local prefix = string.sub(zset, 1, -7)
local function digits(milliseconds) return string.format('%016.0f', milliseconds) end
local function parse(field)
  local owner, version, state, created, due, reference =
    string.match(field or '', '^(%d+)\t([^\t]*)\t([^\t]*)\t(%d+)\t(%d*)\t(.*)$')
  if not owner then return nil end
  local index = {version = version, state = state, created = created, due = due, reference = reference}
  return index, tonumber(owner)
end
local function members(key, index)
  local list = {'s\t' .. index.state .. '\t' .. index.created .. '\t' .. key}
  if index.reference ~= '' then
    table.insert(list, 'r\t' .. index.reference .. '\t' .. index.created .. '\t' .. key)
  end
  if index.due ~= '' then table.insert(list, 'd\t' .. index.due .. '\t' .. key) end
  return list
end
local function unlink(key, index)
  if index then redis.call('ZREM', zset, unpack(members(key, index))) end
end
local function link(key, index)
  for _, member in ipairs(members(key, index)) do redis.call('ZADD', zset, 0, member) end
  local parts = {#prefix, index.version, index.state, index.created, index.due, index.reference}
  redis.call('HSET', prefix .. key, 'index', table.concat(parts, '\t'))
end
local function unlink_old(key)
  local index, owner = parse(redis.call('HGET', prefix .. key, 'index'))
  if owner == #prefix then unlink(key, index) end
end
`;

/**
 * A key is new only if there is nothing at all: a record that has lost its version is not new. The index is written first: if
 * it cannot be, because its name is that of another value, nothing is.
 */
export const WRITE = `
local kind = redis.call('TYPE', KEYS[1]).ok
if ARGV[1] == '' then
  if kind ~= 'none' then return 0 end
elseif kind ~= 'hash' or redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] then return 0 end
${INDEX}
local key = string.sub(KEYS[1], #prefix + 1)
unlink_old(key)
if ARGV[5] ~= '' then
  local due = ARGV[8] ~= '' and digits(now + tonumber(ARGV[8])) or ''
  link(key, {version = ARGV[2], state = ARGV[5], created = ARGV[6], reference = ARGV[7], due = due})
else
  redis.call('HDEL', KEYS[1], 'index')
end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'record', ARGV[3], 'written_at', string.format('%.0f', now))
if ARGV[4] == '' then redis.call('HDEL', KEYS[1], 'kept_until') else redis.call('HSET', KEYS[1], 'kept_until', ARGV[4]) end
redis.call('PERSIST', KEYS[1])
return 1`;

/** How many keys of Redis one step of the search looks at. */
const SEARCH_STEP = 100;

/** The shortest and the longest time between two searches, in milliseconds: a minute, and a day. */
const MIN_SEARCH_PAUSE = 60_000;
const MAX_SEARCH_PAUSE = 24 * 60 * 60 * 1000;

/**
 * How a record is read through the index. A version of this package before the index wrote no field `index`, and left one that
 * was there as it was. Then the record's text decides, and the index is corrected. A text that this version does not
 * know is left alone.
 */
const LOAD = String.raw`${INDEX}
local states = {begun = true, completed = true, not_sent = true, rejected = true, unknown = true, not_charged = true}
local function derive(text, written_at, old)
  -- A half of a character, which JSON can hold, is refused by this parser.
  local is_json, record = pcall(cjson.decode, (string.gsub(text, '\\u[dD]%x%x%x', '\\ufffd')))
  if not is_json or type(record) ~= 'table' or not states[record.state] then return nil end
  if record.format ~= 1 and record.format ~= 2 then return nil end
  local reference = record.state == 'unknown' and record.reference
  if record.state == 'completed' then reference = type(record.result) == 'table' and record.result.reference end
  reference = type(reference) == 'string' and string.lower(reference) or ''
  local due = ''
  if record.state == 'begun' or record.state == 'unknown' then
    due = old and old.due ~= '' and old.due or digits(now)
  end
  local created = type(record.createdAt) == 'number' and record.createdAt or written_at
  return {state = record.state, created = old and old.created or digits(created), reference = reference, due = due}
end
local function load(key, adopt)
  local name = prefix .. key
  local kind = redis.call('TYPE', name).ok
  if kind == 'none' then return nil end
  local unreadable = {'', '', ''}
  if kind ~= 'hash' then return unreadable, nil end
  local found = redis.call('HMGET', name, 'version', 'record', 'written_at', 'index')
  local version, text, written_at = found[1], found[2], tonumber(found[3] or '')
  local index, owner = parse(found[4])
  if owner and owner ~= #prefix then
    -- A journal with a longer prefix takes over what this one's search took for its own.
    if not adopt or owner > #prefix then return nil end
    index = nil
  end
  if not (version and version ~= '' and text and written_at) then return unreadable, index end
  if not index or index.version ~= version then
    local derived = derive(text, written_at, index)
    if derived then
      derived.version = version
      unlink(key, index)
      link(key, derived)
      index = derived
    end
  end
  return {version, text, tostring(now - written_at)}, index
end
local function has(key, index, member)
  for _, own in ipairs(members(key, index)) do
    if own == member then return true end
  end
  return false
end
local mark = redis.call('ZRANGEBYLEX', zset, '[m\t', '(m\t:', 'LIMIT', 0, 1)[1]
local first, last, cursor = string.match(mark or '', '^m\t(%d+)\t(%d+)\t(%d*)$')
first, last, cursor = tonumber(first or '') or 0, tonumber(last or '') or 0, cursor or ''
local function search()
  if first == 0 then return 'first' end
  local pause = math.min(math.max(last - first, ${MIN_SEARCH_PAUSE}), ${MAX_SEARCH_PAUSE})
  if cursor ~= '' or now < last or now >= last + pause then return 'again' end
  return 'done'
end
`;

/**
 * Searches some of the keys of Redis for records that are not in the index. Any number of processes share a search. Returns
 * `first` or `again` if there is more to do in the first search or in a later one, else `done`.
 *
 * A search that Redis restarts in between can miss a record, and so can one during which an older version of this package
 * writes. So there is always another one: after a minute, and then after twice as long, up to a day.
 */
export const SEARCH = String.raw`${LOAD}
if search() == 'done' then return {'done'} end
local pattern = string.gsub(prefix, '[%*%?%[%]%\\]', '\\%0') .. '*'
local found = redis.call('SCAN', cursor == '' and '0' or cursor, 'MATCH', pattern, 'COUNT', ${SEARCH_STEP})
for _, name in ipairs(found[2]) do
  local key = string.sub(name, #prefix + 1)
  local _, index = load(key, true)
  if index and not redis.call('ZSCORE', zset, members(key, index)[1]) then link(key, index) end
end
cursor = found[1] ~= '0' and found[1] or ''
if cursor == '' then
  last = now
  if first == 0 or first > now then first = now end
end
if mark then redis.call('ZREM', zset, mark) end
redis.call('ZADD', zset, 0, 'm\t' .. digits(first) .. '\t' .. digits(last) .. '\t' .. cursor)
return {search()}`;

/** Reads the index only if nothing has to be searched first, or if the caller has done so. */
const READ_INDEX = `${LOAD}
if ARGV[1] == 'search' and search() ~= 'done' then return {search()} end
`;

/**
 * Returns records between two members of the index. A member whose record is gone is removed: Redis or an older version
 * of this package deleted it.
 */
export const LIST = String.raw`${READ_INDEX}
local from, to, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
local listed = {'done'}
repeat
  local found = redis.call('ZRANGEBYLEX', zset, from, to, 'LIMIT', 0, limit)
  for _, member in ipairs(found) do
    from = '(' .. member
    local created, key = string.match(member, '\t(%d+)\t([^\t]*)$')
    local record, index = load(key or '', false)
    if record and (not index or has(key, index, member)) then
      table.insert(listed, {key, record[1], record[2], record[3], created})
      if #listed > limit then break end
    else
      redis.call('ZREM', zset, member)
    end
  end
until #found < limit or #listed > limit
return listed`;

/** Returns each state, and how many records are in it. */
export const COUNT = String.raw`${READ_INDEX}
local counts = {'done'}
for state in pairs(states) do
  local count = redis.call('ZLEXCOUNT', zset, '[s\t' .. state .. '\t', '(s\t' .. state .. '\t:')
  table.insert(counts, {state, tostring(count)})
end
return counts`;

/** The bounds of what is due by the clock of Redis, and of what is due so late that the clock must have gone back. */
const DUE = `${READ_INDEX}
local due_from, due_to = '[d\\t', '(d\\t' .. digits(now + 1)
local late_from, late_to = '[d\\t' .. digits(now + ${MAX_DUE_IN} + 1), '(d\\t:'
`;

/** Returns records that are due, and makes each due again later, also one that cannot be read. */
export const CLAIM_DUE = String.raw`${DUE}
local limit, due = tonumber(ARGV[2]), digits(now + tonumber(ARGV[3]))
local claimed = {'done'}
local function claim(from, to)
  while #claimed <= limit do
    local found = redis.call('ZRANGEBYLEX', zset, from, to, 'LIMIT', 0, limit + 1 - #claimed)
    if #found == 0 then return end
    for _, member in ipairs(found) do
      from = '(' .. member
      local key = string.match(member, '([^\t]*)$')
      local record, index = load(key, false)
      redis.call('ZREM', zset, member)
      if record and (not index or has(key, index, member)) then
        if index then
          index.due = due
          link(key, index)
        else
          redis.call('ZADD', zset, 0, 'd\t' .. due .. '\t' .. key)
        end
        table.insert(claimed, {key, record[1], record[2], record[3], index and index.created or '0'})
      end
    end
  end
end
claim(due_from, due_to)
claim(late_from, late_to)
return claimed`;

/** Returns how many records are due, and in how many milliseconds the next one is: empty if there is none. */
export const COUNT_DUE = String.raw`${DUE}
local due = redis.call('ZLEXCOUNT', zset, due_from, due_to) + redis.call('ZLEXCOUNT', zset, late_from, late_to)
local later = redis.call('ZRANGEBYLEX', zset, '[' .. string.sub(due_to, 2), '(' .. string.sub(late_from, 2), 'LIMIT', 0, 1)[1]
local at = later and tonumber(string.match(later, '^d\t(%d+)'))
return {'done', tostring(due), at and tostring(at - now) or ''}`;

/**
 * Counts the time, and stores when the record of a key expires. Returns the counted time, and ten keys whose records have
 * expired by it. Redis's own expiry goes by its clock, which might be wrong.
 */
export const COUNT_TIME = `${NOW}
local found = redis.call('HMGET', KEYS[1], 'counted', 'told_at')
local counted = tonumber(found[1] or '') or 0
counted = counted + math.min(now - (tonumber(found[2] or '') or now), ${MAX_CLOCK_STEP})
local text = string.format('%.0f', counted)
redis.call('HSET', KEYS[1], 'counted', text, 'told_at', string.format('%.0f', now))
local kept_until = string.format('%.0f', counted + tonumber(ARGV[2]))
redis.call('ZADD', KEYS[2], kept_until, ARGV[1])
return {text, kept_until, unpack(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', text, 'LIMIT', 0, 10))}`;

/** The list of keys can be out of date: the record itself decides. */
export const DELETE_EXPIRED = `
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return 0 end
local kept_until = tonumber(redis.call('HGET', KEYS[1], 'kept_until') or '')
if not kept_until or kept_until > tonumber(ARGV[1]) then return 1 end
${INDEX}
unlink_old(string.sub(KEYS[1], #prefix + 1))
redis.call('DEL', KEYS[1])
return 1`;

/** Takes keys whose records have expired off the list. */
export const FORGET_KEYS = `
for index = 2, #ARGV do
  local kept_until = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[index]) or '')
  if kept_until and kept_until <= tonumber(ARGV[1]) then redis.call('ZREM', KEYS[1], ARGV[index]) end
end
return 1`;
