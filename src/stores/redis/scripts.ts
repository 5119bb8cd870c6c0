/**
 * The Lua scripts of the journal in Redis: each is one atomic step. The last key of each script is the index, and the names
 * of the records begin with the same prefix.
 *
 * The index is one sorted set. All its members have the same score, so they are in order of their bytes:
 * - `c`, time, key: when the latest payment of the record began.
 * - `a`, time, key: from when on a person is needed.
 * - `d`, kind, time, key: when the record is due.
 * - `journal`: that there is a journal. It stays when all records are deleted.
 *
 * A tab separates the parts, and times have 16 digits. The hash of each record has its members, without the key, as the fields
 * `created`, `attention` and `due`, so that the next write removes the right ones.
 */

import { MAX_DUE_IN } from '../../journal/store.ts';

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local zset = KEYS[#KEYS]
local prefix = string.sub(zset, 1, -7)
local function digits(milliseconds) return string.format('%016.0f', milliseconds) end
-- A value without all that a record has is not the journal's own: it is returned as a record that cannot be read.
local function load(name)
  local type = redis.call('TYPE', name).ok
  if type == 'none' then return nil end
  if type ~= 'hash' then return {'', ''} end
  local version, text = unpack(redis.call('HMGET', name, 'version', 'record'))
  return version and version ~= '' and text and {version, text} or {'', ''}
end`;

/** Returns the time, whether there is a journal, and version and text if there is a record. */
export const READ = `${NOW}
local record = load(KEYS[1])
return {digits(now), tostring(redis.call('EXISTS', zset)), unpack(record or {})}`;

/** Moves a record in the index. Its name must be a hash's, or free. */
const MOVE = String.raw`${NOW}
local fields = {'created', 'attention', 'due'}
local function move(name, places)
  local key = '\t' .. string.sub(name, #prefix + 1)
  local before = redis.call('HMGET', name, unpack(fields))
  for number, field in ipairs(fields) do
    local place = places[number]
    if before[number] and before[number] ~= place then
      redis.call('ZREM', zset, before[number] .. key)
      redis.call('HDEL', name, field)
    end
    if place ~= '' then
      redis.call('ZADD', zset, 0, place .. key)
      redis.call('HSET', name, field, place)
    end
  end
end
`;

/**
 * A key is new only if there is nothing at all: a record that has lost its version is not new. The index is written first: if
 * it cannot be, because its name is that of another value, nothing is.
 */
export const WRITE = `${MOVE}
local name, expected, version, record = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local type = redis.call('TYPE', name).ok
if expected == '' then
  if type ~= 'none' then return 0 end
elseif type ~= 'hash' or redis.call('HGET', name, 'version') ~= expected then return 0 end
redis.call('ZADD', zset, 0, 'journal')
move(name, {ARGV[4], ARGV[5], ARGV[6]})
redis.call('HSET', name, 'version', version, 'record', record)
redis.call('PERSIST', name)
return 1`;

const ATTENTION = String.raw`${NOW}
local attention_from, attention_to = '[a\t', '(a\t' .. digits(now + 1)
`;

/**
 * Returns records in order of a time. A member whose record is gone, because it was deleted by hand, is removed.
 * A colon comes after all digits.
 */
export const LIST = String.raw`${ATTENTION}
if redis.call('EXISTS', zset) == 0 then return false end
local after, limit = ARGV[2], tonumber(ARGV[3])
local from, to = '[c\t', '(c\t:'
if ARGV[1] == 'attentionAt' then from, to = attention_from, attention_to end
if after ~= '' then from = '(' .. string.sub(from, 2) .. after end
local listed = {}
repeat
  local found = redis.call('ZRANGEBYLEX', zset, from, to, 'LIMIT', 0, limit - #listed)
  for _, member in ipairs(found) do
    from = '(' .. member
    local at, key = string.match(member, '\t(%d+)\t([^\t]*)$')
    local record = load(prefix .. key)
    if record then
      table.insert(listed, {key, at, record[1], record[2]})
    else
      redis.call('ZREM', zset, member)
    end
  end
until #found == 0 or #listed == limit
return listed`;

/** Returns how many records have an index, and how many of them need a person now. */
export const COUNT = String.raw`${ATTENTION}
if redis.call('EXISTS', zset) == 0 then return false end
return {redis.call('ZLEXCOUNT', zset, '[c\t', '(c\t:'), redis.call('ZLEXCOUNT', zset, attention_from, attention_to)}`;

/** The bounds of what is due by the clock of Redis, and of what is due so late that the clock must have gone back. */
const DUE = String.raw`${NOW}
local start = 'd\t' .. ARGV[1] .. '\t'
local due_from, due_to = '[' .. start, '(' .. start .. digits(now + 1)
local late_from, late_to = '[' .. start .. digits(now + ${MAX_DUE_IN} + 1), '(' .. start .. ':'
`;

/** Returns the time and the records that are due, and makes each due again later, also one that cannot be read. */
export const CLAIM_DUE = String.raw`${DUE}
local limit, place = tonumber(ARGV[2]), start .. digits(now + tonumber(ARGV[3]))
local claimed = {}
local function claim(from, to)
  while #claimed < limit do
    local found = redis.call('ZRANGEBYLEX', zset, from, to, 'LIMIT', 0, limit - #claimed)
    if #found == 0 then return end
    for _, member in ipairs(found) do
      from = '(' .. member
      local at, key = string.match(member, '\t(%d+)\t([^\t]*)$')
      local name = prefix .. key
      local record = load(name)
      redis.call('ZREM', zset, member)
      if record then
        redis.call('ZADD', zset, 0, place .. '\t' .. key)
        if redis.call('TYPE', name).ok == 'hash' then redis.call('HSET', name, 'due', place) end
        table.insert(claimed, {key, at, record[1], record[2]})
      end
    end
  end
end
claim(due_from, due_to)
claim(late_from, late_to)
return {digits(now), claimed}`;

/** Returns how many records are due, and in how many milliseconds the next one is: empty if there is none. */
export const COUNT_DUE = String.raw`${DUE}
local due = redis.call('ZLEXCOUNT', zset, due_from, due_to) + redis.call('ZLEXCOUNT', zset, late_from, late_to)
local later = redis.call('ZRANGEBYLEX', zset, '[' .. string.sub(due_to, 2), '(' .. string.sub(late_from, 2), 'LIMIT', 0, 1)[1]
return {due, later and tonumber(string.match(later, '^d\t[^\t]*\t(%d+)')) - now or ''}`;

/** Deletes each record that still has its version, and returns how many those were. */
export const DELETE = `${MOVE}
local deleted = 0
for index, version in ipairs(ARGV) do
  local name = KEYS[index]
  if redis.call('TYPE', name).ok == 'hash' and redis.call('HGET', name, 'version') == version then
    move(name, {'', '', ''})
    redis.call('DEL', name)
    deleted = deleted + 1
  end
end
return deleted`;
