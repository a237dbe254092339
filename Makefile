# SPDX-License-Identifier: GPL-2.0-only
#
# The entry points. Kbuild builds the module; scripts/ holds the host tool that
# makes and boots everything else. With KDIR=<Rust-enabled kernel build tree>
# nothing is installed: your tools and your kernel are used.

REPMOV_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/repmov
ARCH ?= um
export REPMOV_CACHE KDIR

CARGO := CARGO_TARGET_DIR='$(REPMOV_CACHE)/target' cargo
REPMOV := '$(REPMOV_CACHE)/target/release/repmov'
# Kbuild must not take ARCH=um, which is kunit's, for the module's.
KBUILD = $(MAKE) -C '$(KDIR)' M='$(CURDIR)' ARCH=x86_64

.PHONY: module modules run verify mutants time report table cmp rank reference readme check stress kunit setup shell tool kdir clean modules_install rust-analyzer help

ifneq ($(KDIR),)
module modules: kdir
	$(KBUILD) modules
else
module modules: tool
	@$(REPMOV) module
endif

run check setup: tool
	@$(REPMOV) $@

stress: tool
	@$(REPMOV) stress $(if $(SHORT),--short) $(if $(SEED),--seed '$(SEED)')

# What verify and time take: a patch, or a whole source.
GIVEN = $(if $(PATCH),--patch '$(PATCH)') $(if $(ASM),--asm '$(ASM)') \
	$(if $(ROUTINE),--routine '$(ROUTINE)') $(if $(BASE),--base '$(BASE)')

verify: tool
	@$(REPMOV) verify $(GIVEN)

time: tool
	@$(REPMOV) time $(if $(PLAN),--plan '$(PLAN)') $(if $(LAB),--lab '$(LAB)') $(if $(RUNS),--runs '$(RUNS)') $(GIVEN)

# Do the checks find what is wrong with mutants of the candidates?
mutants: tool
	@$(REPMOV) mutants $(if $(EVERY),--every '$(EVERY)')

report table rank: tool
	@$(REPMOV) $@ $(RECORD)

cmp: tool
	@$(REPMOV) cmp $(A) $(B)

# All experiments, for the README, on the machine at hand.
reference: tool
	@$(REPMOV) time --plan all --out results/reference
	@$(REPMOV) readme

readme: tool
	@$(REPMOV) readme

kunit: tool
	@$(REPMOV) kunit --arch $(ARCH)

# For kunit.py by hand, and to look around.
shell: tool
	@$(REPMOV) exec bash

tool:
	@scripts/need-cargo
	@mkdir -p '$(REPMOV_CACHE)/target'
	@$(CARGO) build --release --locked --quiet --manifest-path scripts/Cargo.toml

modules_install rust-analyzer: kdir
	$(KBUILD) $@

ifneq ($(KDIR),)
clean: kdir
	$(KBUILD) clean
else
clean:
	rm -rf '$(REPMOV_CACHE)/module'
endif

kdir:
	@scripts/need-kdir '$(KDIR)'

help:
	@echo 'make run               check and time every candidate in a guest'
	@echo 'make verify PATCH=FILE|- [BASE=]  is a mail, mailbox or diff right'
	@echo 'make verify ASM=FILE ROUTINE=     is a whole source right'
	@echo 'make time [PLAN=] [LAB=] [RUNS=]  time a plan natively, keep the record'
	@echo 'make report|table|rank RECORD=FILE...  what records say; make cmp A= B='
	@echo 'make reference         time all plans for the README; make readme'
	@echo 'make check             run all tests'
	@echo 'make mutants [EVERY=N] do the checks find what is wrong with mutants'
	@echo 'make stress [SHORT=1] [SEED=]     mistreat the module in a debug kernel'
	@echo 'make kunit [ARCH=um]   run the KUnit suites; or ARCH=x86_64'
	@echo 'make module            build repmov.ko for the stock kernel'
	@echo 'make KDIR=DIR          build repmov.ko in DIR with your tools'
	@echo 'make KDIR=DIR modules_install | clean | rust-analyzer'
	@echo 'make shell             a shell in the toolchain root'
	@echo 'make setup             only set up what run needs'
