//! The table of LLVM C functions in use, resolved once from rustc's own libLLVM.
//!
//! Every function that this crate ever calls stands in `functions!` below, so a libLLVM that
//! lacks one is refused at start with its name and not in the middle of a link.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::sync::OnceLock;

use super::Error;

macro_rules! opaque {
    ($($name:ident)*) => {
        $(#[repr(C)] pub(super) struct $name { _private: [u8; 0] })*
    };
}
opaque! { RawContext RawModule RawType RawValue RawBlock RawUse RawBuilder RawMetadata RawAttribute
RawBuffer RawTarget RawMachine RawData RawOptions RawError RawDiagnostic }

/// What LLVM calls for each diagnostic.
pub(super) type DiagnosticHandler = extern "C" fn(*mut RawDiagnostic, *mut c_void);

type Bool = c_int;

macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Addresses of the C functions, under their own names.
        #[expect(non_snake_case, reason = "fields are named as the C functions they hold")]
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Api {
            fn resolve(library: &'static libloading::Library) -> Result<Self, Error> {
                Ok(Self {
                    $($name: {
                        // SAFETY: the name is that of an LLVM C function and the type is its
                        // declaration in llvm-c of LLVM 21 and 22; the library is never unloaded.
                        *unsafe {
                            library.get(concat!(stringify!($name), "\0"))
                        }.map_err(|_| Error::MissingFunction(stringify!($name)))?
                    },)*
                })
            }
        }
    };
}

functions! {
    LLVMGetVersion(*mut c_uint, *mut c_uint, *mut c_uint);
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMDisposeMessage(*mut c_char);

    LLVMContextCreate() -> *mut RawContext;
    LLVMContextDispose(*mut RawContext);
    LLVMContextSetDiagnosticHandler(*mut RawContext, DiagnosticHandler, *mut c_void);
    LLVMGetDiagInfoDescription(*mut RawDiagnostic) -> *mut c_char;
    LLVMGetDiagInfoSeverity(*mut RawDiagnostic) -> c_uint;
    LLVMGetMDKindIDInContext(*mut RawContext, *const c_char, c_uint) -> c_uint;
    LLVMCreateMemoryBufferWithMemoryRangeCopy(*const c_char, usize, *const c_char) -> *mut RawBuffer;
    LLVMGetBufferStart(*mut RawBuffer) -> *const c_char;
    LLVMGetBufferSize(*mut RawBuffer) -> usize;
    LLVMDisposeMemoryBuffer(*mut RawBuffer);
    LLVMParseBitcodeInContext2(*mut RawContext, *mut RawBuffer, *mut *mut RawModule) -> Bool;

    LLVMDisposeModule(*mut RawModule);
    LLVMGetTarget(*mut RawModule) -> *const c_char;
    LLVMGetModuleDataLayout(*mut RawModule) -> *mut RawData;
    LLVMGetFirstFunction(*mut RawModule) -> *mut RawValue;
    LLVMGetNextFunction(*mut RawValue) -> *mut RawValue;
    LLVMGetFirstGlobal(*mut RawModule) -> *mut RawValue;
    LLVMGetNextGlobal(*mut RawValue) -> *mut RawValue;
    LLVMGetNamedFunction(*mut RawModule, *const c_char) -> *mut RawValue;
    LLVMAddFunction(*mut RawModule, *const c_char, *mut RawType) -> *mut RawValue;
    LLVMAddGlobal(*mut RawModule, *mut RawType, *const c_char) -> *mut RawValue;
    LLVMGetModuleInlineAsm(*mut RawModule, *mut usize) -> *const c_char;
    LLVMAppendModuleInlineAsm(*mut RawModule, *const c_char, usize);
    LLVMPrintModuleToString(*mut RawModule) -> *mut c_char;
    LLVMVerifyModule(*mut RawModule, c_int, *mut *mut c_char) -> Bool;
    LLVMLinkModules2(*mut RawModule, *mut RawModule) -> Bool;

    LLVMVoidTypeInContext(*mut RawContext) -> *mut RawType;
    LLVMIntTypeInContext(*mut RawContext, c_uint) -> *mut RawType;
    LLVMPointerTypeInContext(*mut RawContext, c_uint) -> *mut RawType;
    LLVMStructTypeInContext(*mut RawContext, *mut *mut RawType, c_uint, Bool) -> *mut RawType;
    LLVMFunctionType(*mut RawType, *mut *mut RawType, c_uint, Bool) -> *mut RawType;
    LLVMGetTypeContext(*mut RawType) -> *mut RawContext;
    LLVMGetTypeKind(*mut RawType) -> c_uint;
    LLVMTypeOf(*mut RawValue) -> *mut RawType;
    LLVMGlobalGetValueType(*mut RawValue) -> *mut RawType;
    LLVMGetPointerAddressSpace(*mut RawType) -> c_uint;
    LLVMStoreSizeOfType(*mut RawData, *mut RawType) -> u64;

    LLVMConstInt(*mut RawType, u64, Bool) -> *mut RawValue;
    LLVMConstIntGetZExtValue(*mut RawValue) -> u64;
    LLVMConstNull(*mut RawType) -> *mut RawValue;
    LLVMGetPoison(*mut RawType) -> *mut RawValue;
    LLVMConstStructInContext(*mut RawContext, *mut *mut RawValue, c_uint, Bool) -> *mut RawValue;
    LLVMConstStringInContext2(*mut RawContext, *const c_char, usize, Bool) -> *mut RawValue;

    LLVMGetValueName2(*mut RawValue, *mut usize) -> *const c_char;
    LLVMIsDeclaration(*mut RawValue) -> Bool;
    LLVMGetLinkage(*mut RawValue) -> c_uint;
    LLVMSetLinkage(*mut RawValue, c_uint);
    LLVMGetSection(*mut RawValue) -> *const c_char;
    LLVMSetSection(*mut RawValue, *const c_char);
    LLVMSetInitializer(*mut RawValue, *mut RawValue);
    LLVMGetInitializer(*mut RawValue) -> *mut RawValue;
    LLVMIsGlobalConstant(*mut RawValue) -> Bool;
    LLVMSetGlobalConstant(*mut RawValue, Bool);
    LLVMIsThreadLocal(*mut RawValue) -> Bool;
    LLVMSetUnnamedAddress(*mut RawValue, c_uint);
    LLVMSetAlignment(*mut RawValue, c_uint);

    LLVMGetEnumAttributeKindForName(*const c_char, usize) -> c_uint;
    LLVMCreateEnumAttribute(*mut RawContext, c_uint, u64) -> *mut RawAttribute;
    LLVMCreateStringAttribute(*mut RawContext, *const c_char, c_uint, *const c_char, c_uint) -> *mut RawAttribute;
    LLVMAddAttributeAtIndex(*mut RawValue, c_uint, *mut RawAttribute);
    LLVMGetEnumAttributeAtIndex(*mut RawValue, c_uint, c_uint) -> *mut RawAttribute;
    LLVMRemoveEnumAttributeAtIndex(*mut RawValue, c_uint, c_uint);

    LLVMCountParams(*mut RawValue) -> c_uint;
    LLVMGetParam(*mut RawValue, c_uint) -> *mut RawValue;
    LLVMGetFirstBasicBlock(*mut RawValue) -> *mut RawBlock;
    LLVMGetNextBasicBlock(*mut RawBlock) -> *mut RawBlock;
    LLVMGetFirstInstruction(*mut RawBlock) -> *mut RawValue;
    LLVMGetNextInstruction(*mut RawValue) -> *mut RawValue;
    LLVMGetPreviousInstruction(*mut RawValue) -> *mut RawValue;
    LLVMGetInstructionOpcode(*mut RawValue) -> c_uint;
    LLVMGetNumOperands(*mut RawValue) -> c_int;
    LLVMGetOperand(*mut RawValue, c_uint) -> *mut RawValue;
    LLVMSetOperand(*mut RawValue, c_uint, *mut RawValue);
    LLVMGetFirstUse(*mut RawValue) -> *mut RawUse;
    LLVMGetNextUse(*mut RawUse) -> *mut RawUse;
    LLVMGetUser(*mut RawUse) -> *mut RawValue;
    LLVMReplaceAllUsesWith(*mut RawValue, *mut RawValue);
    LLVMInstructionEraseFromParent(*mut RawValue);
    LLVMGetOrdering(*mut RawValue) -> c_uint;
    LLVMGetVolatile(*mut RawValue) -> Bool;
    LLVMIsAtomicSingleThread(*mut RawValue) -> Bool;
    LLVMGetAtomicRMWBinOp(*mut RawValue) -> c_uint;
    LLVMGetCmpXchgSuccessOrdering(*mut RawValue) -> c_uint;
    LLVMGetCmpXchgFailureOrdering(*mut RawValue) -> c_uint;
    LLVMGetNormalDest(*mut RawValue) -> *mut RawBlock;
    LLVMBasicBlockAsValue(*mut RawBlock) -> *mut RawValue;
    LLVMGetCalledValue(*mut RawValue) -> *mut RawValue;
    LLVMGetNumArgOperands(*mut RawValue) -> c_uint;
    LLVMGetTailCallKind(*mut RawValue) -> c_uint;
    LLVMHasMetadata(*mut RawValue) -> Bool;
    LLVMGetMetadata(*mut RawValue, c_uint) -> *mut RawValue;
    LLVMIsAInstruction(*mut RawValue) -> *mut RawValue;
    LLVMIsAFunction(*mut RawValue) -> *mut RawValue;
    LLVMIsAGlobalVariable(*mut RawValue) -> *mut RawValue;
    LLVMIsAConstantInt(*mut RawValue) -> *mut RawValue;
    LLVMIsAConstantExpr(*mut RawValue) -> *mut RawValue;
    LLVMIsAConstant(*mut RawValue) -> *mut RawValue;
    LLVMIsAGlobalValue(*mut RawValue) -> *mut RawValue;
    LLVMIsAInlineAsm(*mut RawValue) -> *mut RawValue;
    LLVMGetInlineAsmAsmString(*mut RawValue, *mut usize) -> *const c_char;
    LLVMGetInlineAsmConstraintString(*mut RawValue, *mut usize) -> *const c_char;
    LLVMLookupIntrinsicID(*const c_char, usize) -> c_uint;
    LLVMGetIntrinsicDeclaration(*mut RawModule, c_uint, *mut *mut RawType, usize) -> *mut RawValue;

    LLVMCreateBuilderInContext(*mut RawContext) -> *mut RawBuilder;
    LLVMDisposeBuilder(*mut RawBuilder);
    LLVMPositionBuilderBefore(*mut RawBuilder, *mut RawValue);
    LLVMSetCurrentDebugLocation2(*mut RawBuilder, *mut RawMetadata);
    LLVMBuildCall2(*mut RawBuilder, *mut RawType, *mut RawValue, *mut *mut RawValue, c_uint, *const c_char) -> *mut RawValue;
    LLVMBuildPtrToInt(*mut RawBuilder, *mut RawValue, *mut RawType, *const c_char) -> *mut RawValue;
    LLVMBuildIntToPtr(*mut RawBuilder, *mut RawValue, *mut RawType, *const c_char) -> *mut RawValue;
    LLVMBuildBitCast(*mut RawBuilder, *mut RawValue, *mut RawType, *const c_char) -> *mut RawValue;
    LLVMBuildZExtOrBitCast(*mut RawBuilder, *mut RawValue, *mut RawType, *const c_char) -> *mut RawValue;
    LLVMBuildIntCast2(*mut RawBuilder, *mut RawValue, *mut RawType, Bool, *const c_char) -> *mut RawValue;
    LLVMBuildICmp(*mut RawBuilder, c_uint, *mut RawValue, *mut RawValue, *const c_char) -> *mut RawValue;
    LLVMBuildSelect(*mut RawBuilder, *mut RawValue, *mut RawValue, *mut RawValue, *const c_char) -> *mut RawValue;
    LLVMBuildInsertValue(*mut RawBuilder, *mut RawValue, *mut RawValue, c_uint, *const c_char) -> *mut RawValue;
    LLVMBuildGEP2(*mut RawBuilder, *mut RawType, *mut RawValue, *mut *mut RawValue, c_uint, *const c_char) -> *mut RawValue;
    LLVMBuildArrayAlloca(*mut RawBuilder, *mut RawType, *mut RawValue, *const c_char) -> *mut RawValue;
    LLVMBuildStore(*mut RawBuilder, *mut RawValue, *mut RawValue) -> *mut RawValue;
    LLVMBuildLoad2(*mut RawBuilder, *mut RawType, *mut RawValue, *const c_char) -> *mut RawValue;

    LLVMGetMetadataKind(*mut RawMetadata) -> c_uint;
    LLVMMetadataAsValue(*mut RawContext, *mut RawMetadata) -> *mut RawValue;
    LLVMValueAsMetadata(*mut RawValue) -> *mut RawMetadata;
    LLVMGetMDString(*mut RawValue, *mut c_uint) -> *const c_char;
    LLVMGetMDNodeNumOperands(*mut RawValue) -> c_uint;
    LLVMGetMDNodeOperands(*mut RawValue, *mut *mut RawValue);
    LLVMGetSubprogram(*mut RawValue) -> *mut RawMetadata;
    LLVMInstructionGetDebugLoc(*mut RawValue) -> *mut RawMetadata;
    LLVMDILocationGetLine(*mut RawMetadata) -> c_uint;
    LLVMDILocationGetColumn(*mut RawMetadata) -> c_uint;
    LLVMDILocationGetScope(*mut RawMetadata) -> *mut RawMetadata;
    LLVMDILocationGetInlinedAt(*mut RawMetadata) -> *mut RawMetadata;
    LLVMDIScopeGetFile(*mut RawMetadata) -> *mut RawMetadata;
    LLVMDIFileGetFilename(*mut RawMetadata, *mut c_uint) -> *const c_char;
    LLVMDIFileGetDirectory(*mut RawMetadata, *mut c_uint) -> *const c_char;
    LLVMDISubprogramGetLine(*mut RawMetadata) -> c_uint;
    LLVMDIBuilderCreateDebugLocation(*mut RawContext, c_uint, c_uint, *mut RawMetadata, *mut RawMetadata) -> *mut RawMetadata;
    LLVMDITypeGetName(*mut RawMetadata, *mut usize) -> *const c_char;
    LLVMDITypeGetSizeInBits(*mut RawMetadata) -> u64;
    LLVMDITypeGetOffsetInBits(*mut RawMetadata) -> u64;
    LLVMGetDINodeTag(*mut RawMetadata) -> u16;

    LLVMGetTargetFromTriple(*const c_char, *mut *mut RawTarget, *mut *mut c_char) -> Bool;
    LLVMCreateTargetMachine(*mut RawTarget, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> *mut RawMachine;
    LLVMDisposeTargetMachine(*mut RawMachine);
    LLVMTargetMachineEmitToMemoryBuffer(*mut RawMachine, *mut RawModule, c_int, *mut *mut c_char, *mut *mut RawBuffer) -> Bool;
    LLVMCreatePassBuilderOptions() -> *mut RawOptions;
    LLVMDisposePassBuilderOptions(*mut RawOptions);
    LLVMRunPasses(*mut RawModule, *const c_char, *mut RawMachine, *mut RawOptions) -> *mut RawError;
    LLVMGetErrorMessage(*mut RawError) -> *mut c_char;
    LLVMDisposeErrorMessage(*mut c_char);
}

static API: OnceLock<Api> = OnceLock::new();

/// Loads libLLVM from `library` and resolves the table. Later calls keep the first library.
pub(super) fn load(library: &Path) -> Result<(), Error> {
    if API.get().is_some() {
        return Ok(());
    }
    // SAFETY: libLLVM's initialisers only register passes and options.
    let loaded = unsafe { libloading::Library::new(library) }.map_err(|error| Error::Load {
        path: library.to_owned(),
        message: error.to_string(),
    })?;
    let api = Api::resolve(Box::leak(Box::new(loaded)))?;
    // SAFETY: these only register the x86 back end.
    unsafe {
        (api.LLVMInitializeX86TargetInfo)();
        (api.LLVMInitializeX86Target)();
        (api.LLVMInitializeX86TargetMC)();
        (api.LLVMInitializeX86AsmPrinter)();
        (api.LLVMInitializeX86AsmParser)();
    }
    API.get_or_init(|| api);
    Ok(())
}

/// The table.
///
/// # Panics
///
/// If [`load`] has not succeeded before; no wrapper can be made without it.
pub(super) fn api() -> &'static Api {
    API.get()
        .expect("libLLVM is loaded before the first wrapper is made")
}

/// An empty C string, for value names.
pub(super) const UNNAMED: *const c_char = c"".as_ptr();

/// Reads `len` bytes at `start` as text.
///
/// # Safety
///
/// `start` is null or points to `len` readable bytes.
pub(super) unsafe fn text(start: *const c_char, len: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: by the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Takes over a message that LLVM allocated.
///
/// # Safety
///
/// `message` is null or a NUL-terminated string that `dispose` may free.
pub(super) unsafe fn message(
    message: *mut c_char,
    dispose: unsafe extern "C" fn(*mut c_char),
) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: by the caller's promise.
    let text = unsafe { std::ffi::CStr::from_ptr(message) }
        .to_string_lossy()
        .into_owned();
    // SAFETY: by the caller's promise; the text was copied.
    unsafe { dispose(message) };
    text
}

const _: () = assert!(size_of::<*mut c_void>() == 8);
