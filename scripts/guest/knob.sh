#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The debugfs files as a person uses and misuses them, printed as KTAP. What is
# refused must be refused in words, and must change nothing.

D=/sys/kernel/debug/repmov
number=0
ok=ok

# Prints a result: 0 for a pass, what was tested, what was seen.
result() {
	number=$((number + 1))
	[ "$1" = 0 ] && echo "    ok $number $2" && return
	ok="not ok"
	echo "    # $2: $3"
	echo "    not ok $number $2"
}

# The error of the last command that failed, in the kernel's words.
err() {
	sed -n 's/.*: //p' /tmp/err | head -1
}

# refused WHAT ERRNO WORDS PLAN: the plan is refused, with that error and words in
# status that contain those, and the plan in force stays.
refused() {
	before=$(cat $D/plan)
	echo -n "$4" > /tmp/words
	# In one write, however long: the shell's own are cut into pages.
	if dd if=/tmp/words of=$D/plan bs=16K 2> /tmp/err; then
		result 1 "$1" "accepted"
		return
	fi
	status=$(cat $D/status)
	case "$(err)/$status/$(cat $D/plan)" in
	"$2/"*"$3"*"/$before") result 0 "$1" ;;
	*) result 1 "$1" "$(err); status: $status; plan: $(cat $D/plan)" ;;
	esac
}

# accepted WHAT PLAN: it reads back with those words in it.
accepted() {
	echo "$2" > $D/plan
	case " $(cat $D/plan) " in
	*" $2 "*) result 0 "$1" ;;
	*) result 1 "$1" "$(cat $D/plan)" ;;
	esac
}

rows() {
	grep -vc -e '^#' -e '^routine' $D/timings
}

cd /
mkdir -p /tmp
echo "KTAP version 1
1..1
    KTAP version 1
    # Subtest: knob
    1..58"

modes=$(stat -c '%a' $D/instances $D/plan $D/run $D/timings $D/verify $D/status | tr '\n' ' ')
[ "$modes" = "400 600 200 400 600 400 " ]
result $? files_are_for_root_only "$modes"

INVALID="Invalid argument"
RANGE="Numerical result out of range"
BIG="Argument list too long"
refused unknown_word "$INVALID" "size: no such word" "size=4"
refused no_words "$INVALID" "no words" " "
refused no_value "$INVALID" "key=value" "len"
refused empty_list "$INVALID" "len: an empty list" "len="
refused empty_item "$INVALID" "len: an empty list" "len=1,,2"
refused not_a_number "$INVALID" "len: not a number" "len=four"
refused backwards "$INVALID" "leads nowhere" "len=9-1"
refused given_twice "$INVALID" "len: given twice" "len=1 len=2"
refused mask_that_does_not_exist "$INVALID" "e2f2: there is none" "mask=e2f2"
refused candidate_that_does_not_exist "$INVALID" "best: there is none" "candidate=best"
refused routine_that_does_not_exist "$INVALID" "memmove: there is none" "routine=memmove"
refused candidate_of_another_routine "$INVALID" "erms512: there is none" \
	"routine=rep_movs_alternative candidate=erms512"
refused entry_that_was_not_built "$INVALID" "entry: not an entry" "entry=8"
refused len_above_the_limit "$RANGE" "len: outside 0 to 16777216" "len=16777217"
refused cpu_that_is_not_there "$RANGE" "CPU 4000 is not online" "cpu=4000"
U="routine=rep_movs_alternative"
refused user_memory_with_memcpy "$INVALID" "mem: memcpy has no fix-ups" "mem=user"
refused fault_with_memcpy "$INVALID" "fault: memcpy has no fix-ups" "fault=1 len=8"
refused fault_beyond_len "$RANGE" "fault: beyond the shortest len=8" "$U fault=8 len=8-64"
refused fault_and_its_place "$INVALID" "src: the place of the fault" "$U fault=3 len=8 src=5"
refused fault_that_is_not_hot "$INVALID" "cache: other than hot" "$U fault=3 len=8 cache=cold-src"
refused memory_that_does_not_exist "$INVALID" "disk: there is none" "$U mem=disk"
refused cache_that_does_not_exist "$INVALID" "l3: there is none" "cache=l3"
refused weights_without_drawing "$INVALID" "weight: is for draw=random" "weight=1 len=8"
refused weights_for_other_lengths "$INVALID" "2 weights for the 1 items" "draw=random weight=1,2 len=8"
refused a_thousand_million_cells "$BIG" "cells are more than" \
	"candidate=orig mask=e0f0 len=0-999 src=0-999 dst=0-999"
refused too_long_to_run "$BIG" "would take about" "len=0-4000 rounds=1001 buffers=48M"
refused more_memory_than_allowed "$BIG" "say buffers=" "len=16M"
refused more_than_a_page "$BIG" "more than 4096 bytes" "len=$(yes 1, | head -c 7000 | tr -d '\n')0"

echo -ne '\377\376' 2> /tmp/err > $D/plan
[ "$(err)" = "$INVALID" ] && grep -q "not UTF-8" $D/status
result $? bytes_that_are_no_text "$(err)"
echo x 2> /tmp/err > $D/verify
[ "$(err)" = "$INVALID" ] && grep -q "neither depth=full nor depth=quick" $D/status
result $? depth_that_does_not_exist "$(err)"

accepted lists_and_ranges "candidate=orig,erms512 mask=e1f0,native entry=0,48 len=0-64,128,4096"
echo 1 > $D/run
[ "$(rows)" = $((3 * 2 * 2 * 67)) ]
result $? a_row_for_every_cell "$(rows) rows"
[ "$(head -1 $D/status)" = idle ] && ! grep -q error $D/status
result $? success_clears_the_error "$(cat $D/status)"

accepted another_routine "routine=rep_movs_alternative candidate=orig,movsq mask=e0f0"
echo 1 > $D/run
[ "$(grep -c '^rep_movs_alternative' $D/timings)" = 3 ]
result $? times_another_routine "$(grep -c '^rep_movs' $D/timings) rows"

# Rows of the last record whose column is that word.
having() {
	grep -v -e '^#' -e '^routine' $D/timings | cut -f $1 | grep -c "^$2\$"
}

echo "$U candidate=movsq mask=e0f0,e1f0 len=64,256 mem=all" > $D/plan
echo 1 > $D/run
[ "$(having 8 kernel) $(having 8 from-user) $(having 8 to-user)" = "12 12 12" ]
result $? times_user_memory "$(rows) rows; $(cat $D/status)"
[ "$(having 12 on)" = 24 ]
result $? user_memory_keeps_interrupts_on "$(having 12 on)"
echo "$U candidate=all mask=e0f0,e1f1 len=64 mem=all fault=0,13,63" > $D/plan
echo 1 > $D/run
[ "$(having 10 0) $(having 10 13) $(having 10 63)" = "24 24 24" ]
result $? times_faults "$(rows) rows; $(cat $D/status)"
[ "$(grep 'to-user' $D/timings | cut -f 10,7 | sort -u | tr '\t\n' '/ ')" = "0/0 4033/63 4083/13 " ]
result $? faults_are_where_they_were_asked_for "$(grep 'to-user' $D/timings | cut -f 10,7 | sort -u)"
echo "routine=copy_user_enhanced_fast_string mask=e0f0" > $D/plan
echo 1 > $D/run
[ "$(rows)" = $((3 * 64)) ]
result $? lengths_of_its_patch_by_default "$(rows) rows"

echo "candidate=all mask=e0f0,e0f1 len=512,4096 cache=all" > $D/plan
echo 1 > $D/run
[ "$(having 9 hot) $(having 9 l2-src) $(having 9 cold-src) $(having 9 cold-dst)" = "16 16 16 16" ]
result $? times_caches "$(rows) rows; $(cat $D/status)"
echo "candidate=all mask=e0f0 len=0-8,64 draw=random weight=3,1" > $D/plan
echo 1 > $D/run
[ "$(having 11 random) $(having 5 19)" = "4 4" ]
result $? times_drawn_lengths "$(rows) rows; $(cat $D/status)"
[ "$(having 2 aa) $(tail -1 $D/timings)" = "1 # end: 4 rows" ]
result $? the_record_says_where_it_ends "$(tail -1 $D/timings)"
grep -q '^# aa: aa is orig, assembled a second time$' $D/timings
result $? the_record_says_what_aa_is "$(grep '^# aa' $D/timings)"

echo "candidate=orig mask=e0f0 len=8 cpu=0" > $D/plan
echo 1 > $D/run
grep -q '^# pinned to cpu: 0$' $D/timings
result $? runs_on_the_cpu_asked_for "$(grep pinned $D/timings)"

accepted sixteen_megabytes_on_request \
	"candidate=orig mask=e0f0 entry=0 len=16777216 src=0 dst=0 mem=kernel cache=hot fault=none draw=each rounds=3 buffers=50331648" \
	2> /dev/null
echo 1 > $D/run
[ "$(grep '^memcpy' $D/timings | cut -f 12 | sort -u)" = on ]
result $? long_calls_keep_interrupts_on_and_say_so "$(grep '^memcpy' $D/timings)"

# A plan that takes some seconds, while others come by.
echo "len=0-4096/64 rounds=101" > $D/plan
old=$(md5sum < $D/timings)
echo 1 > $D/run 2> /tmp/killed &
pid=$!
sleep 1
grep -q '^running [0-9]*/[0-9]*$' $D/status
result $? status_shows_progress "$(cat $D/status)"
cat $D/timings 2> /tmp/err > /dev/null
[ "$(err)" = "Device or resource busy" ]
result $? timings_while_a_plan_runs "$(err)"
echo 1 2> /tmp/err > $D/run
[ "$(err)" = "Device or resource busy" ]
result $? run_while_a_plan_runs "$(err)"
cat $D/verify 2> /tmp/err > /dev/null
[ "$(err)" = "Device or resource busy" ]
result $? verify_while_a_plan_runs "$(err)"
rmmod repmov 2> /tmp/err
[ -e $D/status ] && grep -q 'temporarily unavailable' /tmp/err
result $? unload_while_a_plan_runs "$(cat /tmp/err)"
kill -KILL $pid
wait $pid 2> /dev/null
grep -q 'ended by a signal' $D/status && [ "$(head -1 $D/status)" = idle ]
result $? kill_a_running_plan "$(cat $D/status)"
[ "$(md5sum < $D/timings)" = "$old" ]
result $? a_killed_plan_keeps_the_old_record "it changed"

insmod /repmov.ko 2> /tmp/err
grep -q 'File exists' /tmp/err
result $? loaded_twice "$(cat /tmp/err)"
exec 3< $D/instances
rmmod repmov 2> /tmp/err
[ -e $D/status ] && head -c 7 <&3 | grep -q routine
result $? unload_while_a_file_is_open "$(cat /tmp/err)"
exec 3<&-
rmmod repmov 2> /tmp/err && [ ! -e $D ] && insmod /repmov.ko && [ "$(cat $D/status)" = idle ]
result $? unload_and_load_again "$(cat /tmp/err)"
echo "$ok 1 knob"
